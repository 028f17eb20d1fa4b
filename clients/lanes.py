"""A stream always travels in the same lane, so that its tuples keep their order.

The engine adds tuples in the order of their partition, and a lane is a partition of the data
topic: kinds that follow time see a stream as it was sent, singly or in bulk.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple


class Parcel(NamedTuple):
    """A message on its way: tuples of streams that share a lane."""

    payload: bytes
    tuples: int
    lane: int


def lane_of(dataset: str, stream: str, lanes: int) -> int:
    return zlib.crc32(f"{dataset}/{stream}".encode()) % lanes
