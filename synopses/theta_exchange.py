"""Theta sketches as bytes of Apache DataSketches (compact, ordered), and back.

words in front | version (3) | family (3) | 0 | 0 | flags | seed's hash u16
number of hashes u32 | 0 u32            unless empty
theta u64                               if below its largest value
hashes, sorted
"""

from __future__ import annotations

import struct

import datasketches
import numpy as np
from numpy.typing import NDArray

from synopses.errors import StateError

WHOLE = 2**63 - 1  # theta of a sketch that has seen every hash it met
_HEAD = struct.Struct("<6BH")
_READ_ONLY, _EMPTY, _COMPACT, _ORDERED = 2, 4, 8, 16
_SEED_HASH = 0x93CC  # of 9001


def write(theta: int, hashes: NDArray[np.uint64]) -> bytes:
    """The bytes of a sketch with these sorted hashes; theta 0 means no limit."""
    limited = 0 < theta < WHOLE
    empty = not limited and not len(hashes)
    flags = _READ_ONLY | _COMPACT | _ORDERED | (_EMPTY if empty else 0)
    words = 1 if empty else 3 if limited else 2
    head = _HEAD.pack(words, 3, 3, 0, 0, flags, _SEED_HASH)
    if empty:
        return head
    size = struct.pack("<II", len(hashes), 0)
    return head + size + (struct.pack("<Q", theta) if limited else b"") + hashes.tobytes()


def read(data: bytes) -> tuple[int, NDArray[np.uint64]]:
    """Theta (0: no limit) and sorted hashes of a sketch; StateError if it is none."""
    try:
        sketch = datasketches.compact_theta_sketch.deserialize(bytes(data))
        hashes = np.sort(np.fromiter(sketch, np.uint64))
        theta = int(sketch.theta64)
    except (ValueError, RuntimeError, IndexError, MemoryError) as error:
        raise StateError(f"these bytes are not a theta sketch of DataSketches: {error}") from None
    return 0 if theta >= WHOLE else theta, hashes
