"""Headers of messages, as Kafka writes them: see `sde.kernels.headers`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sde.decoding.pieces import Pieces
from sde.kernels.headers import find_header


def header_values(headers: Pieces, name: str) -> Pieces:
    """The value that each message has in the header with this name, the last one if it has several.

    >>> headers = Pieces.of([packed_headers([("site", b"athens"), ("site", b"b")]), None])
    >>> list(header_values(headers, "site")), list(header_values(headers, "sit"))
    ([b'b', None], [None, None])
    """
    starts, ends = np.empty((2, len(headers)), np.int64)
    wanted = np.frombuffer(bytearray(name.encode()), np.uint8)
    find_header(headers.buffer, headers.starts, headers.ends, wanted, starts, ends)
    return Pieces(headers.buffer, starts, ends)


def packed_headers(headers: Iterable[tuple[str, bytes | None]]) -> bytes:
    """Headers as they stand in a record."""
    parts = [b"".join((_sized(name.encode()), _sized(value))) for name, value in headers]
    return b"".join((varint(len(parts)), *parts))


def _sized(value: bytes | None) -> bytes:
    return varint(-1) if value is None else varint(len(value)) + value


def varint(number: int) -> bytes:
    """A number as it stands in a record, zigzag.

    >>> varint(-1), varint(64)
    (b'\\x01', b'\\x80\\x01')
    """
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes((*out, rest))
