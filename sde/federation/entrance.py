"""Ingest's hand at the entrance: what comes from other sites, and requests that go to them."""

from __future__ import annotations

import base64
import logging

from sde.arrived import Arrived
from sde.federation.asked import read_request, split
from sde.federation.clerk import OTHERS
from sde.federation.desk import Contribution
from sde.federation.frames import CONTRIBUTION, REQUEST, FrameError, sender_of
from sde.federation.peers import Peers
from sde.infore import is_infore
from sde.messages import Fields, Refusal, decode_request

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
    except Refusal as refusal:
        return Arrived(arrived.place, arrived.time, message, refusal.fault)
    return Arrived(arrived.place, arrived.time, plain, federated=federated)


def from_site(payload: bytes, place: str, time: int, peers: Peers) -> Arrived:
    """A frame of a site we know becomes a request or a contribution; any other is only counted."""
    try:
        sender, content = peers.unseal(payload)
        if payload[:4] == REQUEST and sender != peers.site:
            plain, wanted, at = read_request(content, sender, len(payload))
            return Arrived(place, time, plain, at=at, federated=wanted.as_json())
        if payload[:4] == CONTRIBUTION:
            parts = [base64.b64encode(part).decode() for part in content.parts]
            key = Fields(content.head).text("key")
            given = Contribution(key, sender, len(payload), content.head, parts)
            return Arrived(place, time, None, loop=True, federated=given.as_json())
        raise FrameError("a site does not ask itself")
    except (FrameError, Refusal) as error:
        reason = error.fault.message if isinstance(error, Refusal) else error
        _log.warning("a message from outside was dropped (%s): %s", place, reason)
        return Arrived(place, time, None, loop=True, federated={"stray": _claimed(payload, peers)})


def _claimed(payload: bytes, peers: Peers) -> str:
    """Whom a frame that was refused is counted under: names nobody knows must not pile up."""
    try:
        sender = sender_of(payload)
    except FrameError:
        return OTHERS
    return sender if sender in peers.sites else OTHERS
