"""Several byte strings as one, and back: how bundles travel and rest in state."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

_COUNT = struct.Struct("<I")


class FramingError(ValueError):
    """The bytes are not what `pack` wrote."""


def pack(parts: Sequence[bytes | memoryview]) -> bytes:
    """
    >>> unpack(pack([b"a", b"", b"bc"]))
    [b'a', b'', b'bc']
    """
    lengths = struct.pack(f"<{len(parts)}Q", *map(len, parts))
    return b"".join([_COUNT.pack(len(parts)), lengths, *parts])


def unpack(data: bytes | memoryview) -> list[bytes]:
    if len(data) < _COUNT.size:
        raise FramingError(f"{len(data)} bytes are too few for a bundle")
    (count,) = _COUNT.unpack_from(data)
    at = _COUNT.size + 8 * count
    if at > len(data):
        raise FramingError(f"a bundle of {count} parts does not fit in {len(data)} bytes")
    lengths: Iterable[int] = struct.unpack_from(f"<{count}Q", data, _COUNT.size)
    parts = []
    for length in lengths:
        parts.append(bytes(data[at : at + length]))
        at += length
    if at != len(data):
        raise FramingError(f"a bundle promises {at} bytes, there are {len(data)}")
    return parts
