"""The synopses of many streams as one part, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from sde.wire.framing import pack, unpack
from synopses import Streams


def pack_streams(streams: Streams) -> bytes:
    specs = [[name, a.dtype.str, a.shape] for name, a in streams.arrays.items()]
    head = orjson.dumps({"names": streams.names, "arrays": specs})
    return pack([head, *map(_raw, streams.arrays.values())])


def _raw(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, where they lie: a view, which is joined as bytes are."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def unpack_streams(part: bytes) -> Streams:
    described, *data = unpack(part)
    head = orjson.loads(described)
    arrays = {
        name: np.frombuffer(raw, dtype).reshape(shape)
        for (name, dtype, shape), raw in zip(head["arrays"], data, strict=True)
    }
    return Streams(head["names"], arrays)


def join_streams(parts: list[Streams]) -> Streams:
    """The streams of all shards together."""
    names = [name for part in parts for name in part.names]
    arrays = {n: np.concatenate([p.arrays[n] for p in parts]) for n in parts[0].arrays}
    return Streams(names, arrays)
