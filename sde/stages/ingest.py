"""ingest: bytes become blocks, requests and dead letters, each bound for its shards.

messages of the data topics ────> on_data ─────> blocks (one shard each), letters
messages of the request topic ──> on_requests ─> arrived requests (every shard)
messages of the union topic ────> on_loop ─────> what the engine tells itself (every shard)
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import orjson

from sde.decoding import Decoded, Limits, Messages, decode_tuples
from sde.federation.frames import is_frame
from sde.federation.ingest import from_site, parted
from sde.federation.peers import Peers
from sde.infore import is_infore, translate
from sde.records.arrived import Arrived
from sde.shard.versions import Library
from sde.tuples.needs import Wanted
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
from sde.wire.loop import FOR_THE_SERVICE, decode_loop

_DEEPEST = 32  # levels of a request: more can be read than can be written down again


class Ingest:
    def __init__(
        self,
        shards: int,
        limits: Limits,
        library: Library | None = None,
        checkpoint: str = "-",
        peers: Peers | None = None,
    ) -> None:
        self.shards = shards
        self._limits, self._library, self._checkpoint = limits, library, checkpoint
        self._peers = peers or Peers(own=checkpoint)

    def on_data(self, messages: Messages, wanted: Wanted | None = None) -> Decoded:
        """`wanted` is what has to be kept of the tuples, as far as that is known."""
        decoded = decode_tuples(messages, self.shards, self._limits, wanted)
        if len(self._peers.sites) > 1:  # records of different sites must not pass for the same one
            topic = f"{self._peers.site}/{messages.topic}"
            return replace(decoded, blocks=[replace(b, topic=topic) for b in decoded.blocks])
        return decoded

    def on_requests(self, messages: Messages) -> list[Arrived]:
        arrived = (self._arrived(messages, i, _DEEPEST) for i in range(len(messages.offsets)))
        return [self._attach(parted(one, self._peers)) for one in arrived]

    def on_loop(self, messages: Messages) -> list[Arrived]:
        """What is no message of ours is left out: nobody waits for a reply."""
        deepest = 2 * _DEEPEST  # there are requests in what the engine tells itself
        arrived = (self._arrived(messages, i, deepest) for i in range(len(messages.offsets)))
        return [replace(one, loop=True) for one in arrived if self._concerns_shards(one)]

    def _concerns_shards(self, arrived: Arrived) -> bool:
        if arrived.federated is not None:
            return arrived.loop  # a request that a site wrote here is no business of the loop
        try:
            told = decode_loop(arrived.message or {}, self._checkpoint)
            return not isinstance(told, FOR_THE_SERVICE)
        except Refusal:
            return False

    def _arrived(self, messages: Messages, index: int, deepest: int) -> Arrived:
        place = f"{messages.topic}-{messages.partition}-{messages.offsets[index]}"
        time = int(messages.timestamps[index])
        payload = messages.buffer[messages.starts[index] : messages.ends[index]].tobytes()
        if is_frame(payload):
            return from_site(payload, place, time, self._peers)
        message = self._message(payload, deepest)
        if isinstance(message, Fault):
            return Arrived(place, time, None, message)
        return Arrived(place, time, message)

    def _message(self, payload: bytes, deepest: int) -> dict[str, Any] | Fault:
        if len(payload) > self._limits.max_message_bytes:
            return Fault(Code.TOO_LARGE, f"{len(payload)} bytes are too many for a request")
        try:
            message = orjson.loads(payload)
        except orjson.JSONDecodeError as error:
            return Fault(Code.BAD_JSON, f"a request is a JSON object: {error}"[:300])
        if not isinstance(message, dict):
            return Fault(
                Code.BAD_JSON, f"a request is a JSON object, this is {type(message).__name__}"
            )
        if _depth(message, deepest) > deepest:
            return Fault(Code.BAD_JSON, f"a request is nested at most {deepest} levels deep")
        return message

    def _attach(self, arrived: Arrived) -> Arrived:
        """Look up here, in one place, what shards must see alike: which snapshots there are."""
        try:
            request = _request(arrived)
        except Refusal:
            return arrived
        if not isinstance(request, Restore | Snapshot | Snapshots):
            return arrived
        try:
            if self._library is None:
                raise Refusal(Code.BAD_REQUEST, "this engine has no folder for snapshots")
            if isinstance(request, Restore):
                found = self._library.find(request.uid, request.version)
                return replace(arrived, attached=found)
            if isinstance(request, Snapshot):
                numbers = [about["number"] for about in self._library.versions(request.uid)]
                return replace(arrived, attached={"highest": max(numbers, default=0)})
            versions = [_told(about) for about in self._library.versions(request.uid)]
            return replace(arrived, attached={"versions": versions})
        except Refusal as refusal:
            return replace(arrived, attached={"fault": asdict(refusal.fault)})
        except OSError as error:
            fault = Fault(Code.INTERNAL, f"the snapshots cannot be read: {error}"[:300])
            return replace(arrived, attached={"fault": asdict(fault)})


def _depth(value: Any, most: int) -> int:
    """How many objects and arrays are inside each other; not followed further than `most`."""
    if not isinstance(value, dict | list) or most < 0:
        return 0
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max((_depth(one, most - 1) for one in inside), default=0)


def _request(arrived: Arrived) -> Request | None:
    """What is asked for, as far as that can be told without knowing what runs."""
    message = arrived.message or {}
    if not is_infore(message):
        return decode_request(message, arrived.place)
    records = translate(message, arrived.place, lambda uid: None)
    return records[0] if records else None


def _told(about: dict[str, Any]) -> dict[str, Any]:
    hidden = ("definition", "of")
    return {**{n: v for n, v in about.items() if n not in hidden}, "shards": about["of"]}
