"""ingest: bytes become blocks, requests and dead letters, each bound for its shards.

messages of the data topics ────> on_data ─────> blocks (one shard each), letters
messages of the request topic ──> on_requests ─> requests (every shard)
messages of the union topic ────> on_loop ─────> what the engine tells itself (every shard)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
from msgspec import structs

from sde.decoding import Decoded, Limits, Messages, decode_tuples
from sde.federation.frames import is_frame
from sde.federation.ingest import from_site
from sde.federation.peers import Peers
from sde.federation.request import split
from sde.infore import is_infore, translate
from sde.records.arrived import Arrived, FromSite, Told
from sde.records.asked import AnyAsked, Asked, AskedInfore, Attached, Unreadable
from sde.records.loop import Admit, Due, NotOurs, decode_loop
from sde.records.position import Position
from sde.shard.versions import Versions
from sde.tuples.needs import NeedsByDataset
from sde.wire import (
    Code,
    Fault,
    Refusal,
    Request,
    Restore,
    Snapshot,
    Snapshots,
    decode_request,
)

_DEEPEST = 32  # levels of a request: more can be read than can be written down again


class Ingest:
    """`versions`: where snapshots are kept, None for nowhere."""

    def __init__(
        self,
        shards: int,
        limits: Limits,
        versions: Versions | None = None,
        checkpoint: str = "-",
        peers: Peers | None = None,
    ) -> None:
        self.shards = shards
        self._limits, self._versions, self._checkpoint = limits, versions, checkpoint
        self._peers = peers or Peers(own=checkpoint)

    def on_data(self, messages: Messages, wanted: NeedsByDataset | None = None) -> Decoded:
        """`wanted` is what has to be kept of the tuples, as far as that is known."""
        decoded = decode_tuples(messages, self.shards, self._limits, wanted)
        if len(self._peers.sites) > 1:  # records of different sites must not pass for the same one
            topic = f"{self._peers.site}/{messages.topic}"
            return replace(decoded, blocks=[replace(b, topic=topic) for b in decoded.blocks])
        return decoded

    def on_requests(self, messages: Messages) -> list[Arrived]:
        arrived: list[Arrived] = []
        for payload, position, time in _each(messages):
            if is_frame(payload):
                arrived.append(from_site(payload, position, time, self._peers))
            else:
                arrived.append(self._request(payload, position, time))
        return arrived

    def on_loop(self, messages: Messages) -> list[Arrived]:
        """What is no message of ours is left out: nobody waits for a reply."""
        arrived: list[Arrived] = []
        for payload, position, time in _each(messages):
            if is_frame(payload):
                found = from_site(payload, position, time, self._peers)
                if isinstance(found, FromSite):  # requests of a site do not come this way
                    arrived.append(found)
            elif len(payload) <= self._limits.max_message_bytes:
                arrived += self._told(payload, position, time)
        return arrived

    def _told(self, payload: bytes, position: Position, time: int) -> list[Arrived]:
        try:
            message = decode_loop(payload, self._checkpoint)
        except NotOurs:
            return []
        # There are requests in what the engine tells itself.
        deepest = 2 * _DEEPEST
        if isinstance(message, Due | Admit) or _depth(orjson.loads(payload), deepest) > deepest:
            return []
        return [Told(position=position, time=time, message=message)]

    # -- requests ---------------------------------------------------------------------------------

    def _request(self, payload: bytes, position: Position, time: int) -> AnyAsked:
        message: dict[str, Any] = {}
        try:
            message = self._object(payload)
            if is_infore(message):
                attached = self._attached(_translated(message, position))
                return AskedInfore(position=position, time=time, message=message, attached=attached)
            request = decode_request(message, str(position))
            asked = split(Asked(position=position, time=time, request=request), self._peers)
        except Refusal as refusal:
            given = message.get("id")
            named = given if isinstance(given, str) else ""
            return Unreadable(position=position, time=time, fault=refusal.fault, id=named)
        if isinstance(request, Restore | Snapshot | Snapshots):
            return structs.replace(asked, attached=self._attached(request))
        return asked

    def _object(self, payload: bytes) -> dict[str, Any]:
        """The JSON object in a payload; Refusal if there is none, or it is too large or deep."""
        if len(payload) > self._limits.max_message_bytes:
            raise Refusal(Code.TOO_LARGE, f"{len(payload)} bytes are too many for a request")
        try:
            message = orjson.loads(payload)
        except orjson.JSONDecodeError as error:
            raise Refusal(Code.BAD_JSON, f"a request is a JSON object: {error}"[:300]) from None
        if not isinstance(message, dict):
            found = type(message).__name__
            raise Refusal(Code.BAD_JSON, f"a request is a JSON object, this is {found}")
        if _depth(message, _DEEPEST) > _DEEPEST:
            raise Refusal(Code.BAD_JSON, f"a request is nested at most {_DEEPEST} levels deep")
        return message

    def _attached(self, request: Request | None) -> Attached:
        """Looked up here, in one place, because all shards must see it alike: the versions."""
        if not isinstance(request, Restore | Snapshot | Snapshots):
            return Attached()
        try:
            if self._versions is None:
                raise Refusal(Code.BAD_REQUEST, "this engine has no folder for snapshots")
            match request:
                case Restore():
                    return Attached(version=self._versions.find(request.uid, request.version))
                case Snapshot():
                    versions = self._versions.versions(request.uid)
                    return Attached(highest=max((v.number for v in versions), default=0))
                case Snapshots():
                    return Attached(versions=self._versions.versions(request.uid))
        except Refusal as refusal:
            return Attached(fault=refusal.fault)
        except OSError as error:
            reason = f"the snapshots cannot be read: {error}"[:300]
            return Attached(fault=Fault(Code.INTERNAL, reason))


def _each(messages: Messages) -> list[tuple[bytes, Position, int]]:
    """Payload, position and time of each message."""
    topic, partition = messages.topic, messages.partition
    return [
        (
            messages.buffer[start:end].tobytes(),
            Position(topic, partition, int(offset)),
            int(time),
        )
        for start, end, offset, time in zip(
            messages.starts, messages.ends, messages.offsets, messages.timestamps, strict=True
        )
    ]


def _depth(value: Any, most: int) -> int:
    """How many objects and arrays are inside each other; not followed further than `most`."""
    if not isinstance(value, dict | list) or most < 0:
        return 0
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max((_depth(one, most - 1) for one in inside), default=0)


def _translated(message: dict[str, Any], position: Position) -> Request | None:
    """What an INFORE request asks for, as far as that can be told without knowing what runs."""
    try:
        requests = translate(message, str(position), lambda uid: None)
    except Refusal:
        return None
    return requests[0] if requests else None
