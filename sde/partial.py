"""Partials: what one shard contributes to the reply to one request.

Every shard replies to every request, if only "nothing here": a set of partials is complete when
there is one of each shard.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from sde.arrived import Arrived
from sde.framing import pack, unpack
from sde.messages import Code, Fault, Refusal
from synopses import Streams

_JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


@dataclass(frozen=True, slots=True)
class Partial:
    """`head` is JSON: {"fault": ...} or what the operation asks for; `parts` are states."""

    arrived: Arrived
    shard: int
    of: int
    batch: int
    head: dict[str, Any]
    parts: list[bytes] = field(default_factory=list)

    @property
    def meeting(self) -> str:
        """Partials with the same one meet in one task: all of a request, all windows of a watch."""
        return self.arrived.place.partition("\n")[0]

    def to_bytes(self) -> bytes:
        described = {
            "arrived": self.arrived.as_json(),
            "shard": self.shard,
            "of": self.of,
            "batch": self.batch,
            "head": self.head,
        }
        return pack([orjson.dumps(described, option=_JSON), *self.parts])

    @classmethod
    def from_bytes(cls, data: bytes) -> Partial:
        described, *parts = unpack(data)
        held = orjson.loads(described)
        arrived = Arrived.from_json(held.pop("arrived"))
        return cls(arrived, parts=parts, **held)


def require_all(partials: list[Partial]) -> None:
    """A partial of each shard, and none with a fault."""
    first = partials[0]
    if [p.shard for p in partials] != list(range(first.of)):
        raise Refusal(Code.INCOMPLETE, f"{len(partials)} of {first.of} shards answered; ask again")
    require_no_fault(partials)


def require_no_fault(partials: list[Partial]) -> None:
    for partial in partials:
        if "fault" in partial.head:
            raise Refusal.of(Fault.from_record(partial.head["fault"]))


def pack_streams(streams: Streams) -> bytes:
    """The synopses of many streams as one part."""
    specs = [[name, a.dtype.str, a.shape] for name, a in streams.arrays.items()]
    head = orjson.dumps({"names": streams.names, "arrays": specs})
    return pack([head, *(a.tobytes() for a in streams.arrays.values())])


def unpack_streams(part: bytes) -> Streams:
    described, *data = unpack(part)
    held = orjson.loads(described)
    arrays = {
        name: np.frombuffer(raw, dtype).reshape(shape)
        for (name, dtype, shape), raw in zip(held["arrays"], data, strict=True)
    }
    return Streams(held["names"], arrays)


def join_streams(parts: list[Streams]) -> Streams:
    """The streams of all shards together."""
    names = [name for part in parts for name in part.names]
    arrays = {n: np.concatenate([p.arrays[n] for p in parts]) for n in parts[0].arrays}
    return Streams(names, arrays)
