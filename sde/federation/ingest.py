"""Federation, in ingest: frames of other sites become records."""

from __future__ import annotations

import base64
import logging

from sde.federation.frames import Content, FrameError, sender_of
from sde.federation.peers import Peers
from sde.federation.request import request_of_peer
from sde.records.arrived import FromSite
from sde.records.asked import Asked
from sde.records.position import Position
from sde.records.sites import (
    Contribution,
    OwnNote,
    SiteContribution,
    SiteMessage,
    SiteNote,
    Stray,
)
from sde.wire import Refusal

OTHERS = "others"  # whom frames are counted under that name no site we know

_log = logging.getLogger(__name__)


def from_site(payload: bytes, position: Position, time: int, peers: Peers) -> Asked | FromSite:
    """A frame of a site we know becomes a request or a contribution; any other is only counted."""
    try:
        sender, content = peers.unseal(payload)
        head, size = content.head, len(payload)
        message: SiteMessage
        if isinstance(head, Contribution):
            message = _contribution(content, head, sender, size, own=sender == peers.site)
        elif sender == peers.site:
            raise FrameError("a site does not ask itself")
        elif head.request is not None:
            return request_of_peer(head, sender, size, position, time)
        else:
            message = SiteNote(head.key, sender, size, head.whole, head.norm)
    except (FrameError, Refusal) as error:
        reason = error.fault.message if isinstance(error, Refusal) else error
        _log.warning("a message from outside was dropped (%s): %s", position, reason)
        message = Stray(_claimed(payload, peers))
    return FromSite(position=position, time=time, message=message)


def _contribution(
    content: Content, head: Contribution, sender: str, size: int, own: bool
) -> SiteContribution | OwnNote:
    parts = [base64.b64encode(part).decode() for part in content.parts]
    if own and (head.sent is not None or head.norm is not None):
        return OwnNote(head.key, head.sent, parts, head.norm)
    return SiteContribution(head.key, sender, size, head, parts)


def _claimed(payload: bytes, peers: Peers) -> str:
    """Whom a frame that was refused is counted under: names nobody knows must not pile up."""
    try:
        sender = sender_of(payload)
    except FrameError:
        return OTHERS
    return sender if sender in peers.sites else OTHERS
