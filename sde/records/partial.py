"""Partials: what one shard contributes to the reply to one request.

Every shard replies to every request, if only "nothing here": a set of partials is complete when
there is one of each shard.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from sde.records.arrived import Arrived
from sde.wire import Code, Fault, Refusal
from sde.wire.framing import pack, unpack
from synopses import Streams

_ENDING = 64  # bytes by which most parts that differ are told apart
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


def bundle(partials: Iterable[Partial]) -> bytes:
    """Partials that travel together. Parts that are equal travel once.

    Many questions about one synopsis in one batch all have the states of all its streams.
    """
    described, parts = [], _Parts()
    for partial in partials:
        one = {
            "arrived": partial.arrived.as_json(),
            "shard": partial.shard,
            "of": partial.of,
            "batch": partial.batch,
            "head": partial.head,
        }
        described.append({**one, "parts": [parts.place_of(part) for part in partial.parts]})
    return pack([orjson.dumps(described, option=_JSON), *parts.kept])


def unbundle(body: bytes) -> list[Partial]:
    described, *kept = unpack(body)
    partials = []
    for held in orjson.loads(described):
        arrived = Arrived.from_json(held.pop("arrived"))
        parts = [kept[place] for place in held.pop("parts")]
        partials.append(Partial(arrived, parts=parts, **held))
    return partials


class _Parts:
    """Parts in the order they first came in, each once."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self._alike: dict[tuple[int, bytes], list[int]] = {}

    def place_of(self, part: bytes) -> int:
        # To hash all of it would take longer than to copy it; to compare equal ones does not.
        alike = self._alike.setdefault((len(part), part[-_ENDING:]), [])
        for place in alike:
            if self.kept[place] == part:
                return place
        alike.append(len(self.kept))
        self.kept.append(part)
        return alike[-1]


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
    return pack([head, *map(_raw, streams.arrays.values())])


def _raw(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, where they lie: a view, which is joined as bytes are."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


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
