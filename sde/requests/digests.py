"""Digests: 16 hexadecimal digits that say whether two states are the same.

An answer or a description carries one where the state follows from the tuples, however they came:

- of an order-free kind always;
- of another kind where it is the state of one stream, whose tuples have the order of their
  partition. Of a whole data set it depends on the spread over shards and batches, too.

It comes unasked only where it takes much less time than the answer: see `LARGEST`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from synopses import Synopsis

LARGEST = 2**20  # bytes, up to which a digest comes unasked: it takes about 2 ms
_SIZE = 8  # bytes
_WRAP = 1 << 64


def follows_from_tuples(kind: type[Synopsis], of_streams: bool) -> bool:
    """Whether a state of this kind, of single streams or of a whole data set, has a digest."""
    return kind.order_free or of_streams


def digest_of(synopses: Sequence[Synopsis]) -> str:
    """That of one synopsis, or of several in their order."""
    each = [synopsis.digest() for synopsis in synopses]
    return each[0] if len(each) == 1 else _hash("".join(each).encode()).hex()


def streams_sum(states: Iterable[tuple[str, bytes]]) -> int:
    """A number for some streams and their states, in any order: sums of parts add up."""
    total = 0
    for stream, state in states:
        name = stream.encode()
        total += int.from_bytes(_hash(len(name).to_bytes(4, "little") + name + state))
    return total % _WRAP


def digest_of_streams(sums: Iterable[int]) -> str:
    """The digest of all streams, from the sums of the shards."""
    return (sum(sums) % _WRAP).to_bytes(_SIZE).hex()


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_SIZE).digest()
