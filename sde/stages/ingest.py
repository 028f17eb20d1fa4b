"""ingest: bytes become blocks, requests and dead letters, each bound for its shards.

messages of the data topics ────> on_data ─────> blocks (one shard each), letters
messages of the request topic ──> on_requests ─> arrived requests (every shard)
"""

from __future__ import annotations

from typing import Any

import orjson

from sde.arrived import Arrived
from sde.decoding import Decoded, Limits, Messages, decode_tuples
from sde.messages import Code, Fault


class Ingest:
    def __init__(self, shards: int, limits: Limits) -> None:
        self.shards = shards
        self._limits = limits

    def on_data(self, messages: Messages) -> Decoded:
        return decode_tuples(messages, self.shards, self._limits)

    def on_requests(self, messages: Messages) -> list[Arrived]:
        return [self._arrived(messages, i) for i in range(len(messages.offsets))]

    def _arrived(self, messages: Messages, index: int) -> Arrived:
        place = f"{messages.topic}-{messages.partition}-{messages.offsets[index]}"
        time = int(messages.timestamps[index])
        payload = messages.buffer[messages.starts[index] : messages.ends[index]].tobytes()
        message = self._message(payload)
        if isinstance(message, Fault):
            return Arrived(place, time, None, message)
        return Arrived(place, time, message)

    def _message(self, payload: bytes) -> dict[str, Any] | Fault:
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
        return message
