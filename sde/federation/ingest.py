"""Ingest's hand at the entrance: what comes from other sites, and requests that go to them."""

from __future__ import annotations

import base64
import logging
from typing import Any

from sde.federation.frames import CONTRIBUTION, Content, FrameError, sender_of
from sde.federation.maintain import OTHERS
from sde.federation.peers import Peers
from sde.federation.pending import Contribution
from sde.federation.request import asked_of, read_note, read_request, split, standing_watch
from sde.infore import is_infore
from sde.records.arrived import Arrived
from sde.wire import Fields, Refusal, decode_request

_CODE = "plugin"  # in the head of a partial; no site takes code from another
_log = logging.getLogger(__name__)


def parted(arrived: Arrived, peers: Peers) -> Arrived:
    """A request that names sites, as the stages take it; others as they are."""
    message = arrived.message
    if message is None or arrived.federated is not None or is_infore(message):
        return arrived
    try:
        plain, federated = split(message, arrived.place, peers)
        if federated is None:
            return arrived
        decode_request(plain, arrived.place)  # what is wrong with it is told here, to nobody else
        asked = asked_of(federated)
        assert asked is not None
        standing = standing_watch(message, asked, peers.site)
    except Refusal as refusal:
        return Arrived(arrived.place, arrived.time, message, refusal.fault)
    return Arrived(
        arrived.place,
        arrived.time,
        plain,
        attached=None if standing is None else {"standing": standing},
        federated=federated,
    )


def from_site(payload: bytes, place: str, time: int, peers: Peers) -> Arrived:
    """A frame of a site we know becomes a request or a contribution; any other is only counted."""
    try:
        sender, content = peers.unseal(payload)
        own = sender == peers.site
        if payload[:4] == CONTRIBUTION:
            federated = _contribution(content, sender, len(payload), own)
            return Arrived(place, time, None, loop=True, federated=federated)
        if own:
            raise FrameError("a site does not ask itself")
        if "request" not in content.head:
            told = read_note(content, sender, len(payload))
            return Arrived(place, time, None, loop=True, federated=told)
        given = read_request(content, sender, len(payload))
        attached = None if given.standing is None else {"standing": given.standing}
        return Arrived(
            place,
            time,
            given.request,
            at=given.at,
            attached=attached,
            federated=given.wanted.as_json(),
        )
    except (FrameError, Refusal) as error:
        reason = error.fault.message if isinstance(error, Refusal) else error
        _log.warning("a message from outside was dropped (%s): %s", place, reason)
        return Arrived(place, time, None, loop=True, federated={"stray": _claimed(payload, peers)})


def _contribution(content: Content, sender: str, size: int, own: bool) -> dict[str, Any]:
    key = Fields(content.head).text("key")
    parts = [base64.b64encode(part).decode() for part in content.parts]
    if own and content.head.keys() & {"sent", "norm"}:
        return {"own": {**content.head, "parts": parts}}
    head = {name: value for name, value in content.head.items() if name != _CODE}
    return Contribution(key, sender, size, head, parts).as_json()


def _claimed(payload: bytes, peers: Peers) -> str:
    """Whom a frame that was refused is counted under: names nobody knows must not pile up."""
    try:
        sender = sender_of(payload)
    except FrameError:
        return OTHERS
    return sender if sender in peers.sites else OTHERS
