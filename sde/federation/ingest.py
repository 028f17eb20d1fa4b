"""Federation, in ingest: frames of other sites and notes of this one to itself become records."""

from __future__ import annotations

import base64
import logging

from sde.federation.frames import Content, FrameError, sender_of, unpack_content, unseal
from sde.federation.peers import Peers
from sde.federation.request import request_of_peer
from sde.records.arrived import FromSite
from sde.records.asked import Asked
from sde.records.position import Position
from sde.records.seal import Forged, Opened
from sde.records.sites import (
    Contribution,
    OwnNote,
    SiteContribution,
    SiteMessage,
    SiteNote,
    Stray,
)
from sde.wire import Refusal

OTHERS = "others"  # the name under which messages of unknown senders are counted

_log = logging.getLogger(__name__)


def from_site(
    payload: bytes, position: Position, time: int, peers: Peers, is_older: bool = False
) -> Asked | FromSite:
    """A frame of a site we know becomes a request or a contribution; any other is only counted.

    `is_older`: a site of an earlier version wrote it.
    """
    try:
        sender, content = peers.unseal(payload)
        head, size = content.head, len(payload)
        message: SiteMessage
        if isinstance(head, Contribution):
            parts = _as_text(content.parts)
            message = SiteContribution(head.key, sender, size, head, parts)
        elif head.request is not None:
            return request_of_peer(head, sender, size, position, time, is_older)
        else:
            message = SiteNote(head.key, sender, size, head.whole, head.norm, head.time or 0)
    except (FrameError, Refusal) as error:
        reason = error.fault.message if isinstance(error, Refusal) else error
        _log.warning("a message from outside was dropped (%s): %s", position, reason)
        return stray(position, time, _claimed(payload, peers))
    return FromSite(position=position, time=time, message=message)


def from_own(opened: Opened, position: Position, time: int, site: str) -> FromSite:
    """What merge of this site told its state; Forged if it is nothing of that kind."""
    try:
        content = unpack_content(opened.body)
    except FrameError as error:
        raise Forged(str(error)) from None
    message = _own_message(content, site, len(opened.body))
    return FromSite(position=position, time=time, message=message, batch=opened.batch)


def from_unsealed(
    payload: bytes, position: Position, time: int, peers: Peers, checkpoint: str
) -> Asked | FromSite:
    """A frame as earlier versions wrote it: also to itself, with the checkpoint as secret."""
    try:
        content = unseal(payload, peers.site, checkpoint.encode())
    except FrameError:
        return from_site(payload, position, time, peers, is_older=True)
    message = _own_message(content, peers.site, len(payload))
    return FromSite(position=position, time=time, message=message)


def stray(position: Position, time: int, site: str = OTHERS, count: int = 1) -> FromSite:
    """Messages that were refused, to be counted under the site that they claim to be from."""
    return FromSite(position=position, time=time, message=Stray(site, count))


def _own_message(content: Content, site: str, size: int) -> SiteContribution | OwnNote:
    head, parts = content.head, _as_text(content.parts)
    if not isinstance(head, Contribution):
        raise Forged("a site does not ask itself")
    if head.sent is not None or head.norm is not None:
        return OwnNote(head.key, head.sent, parts, head.norm)
    return SiteContribution(head.key, site, size, head, parts)


def _as_text(parts: list[bytes]) -> list[str]:
    return [base64.b64encode(part).decode() for part in parts]


def _claimed(payload: bytes, peers: Peers) -> str:
    """Whom a frame that was refused is counted under: names nobody knows must not pile up."""
    try:
        sender = sender_of(payload)
    except FrameError:
        return OTHERS
    return sender if sender in peers.sites and sender != peers.site else OTHERS
