"""Fetched messages, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sde.decoding.pieces import Pieces


@dataclass(frozen=True)
class Messages:
    """Consecutive messages of one topic partition.

    Payload i is buffer[starts[i]:ends[i]]; each is followed by one newline, so the buffer is
    made of lines whenever the payloads are. A message without a payload (a tombstone) has
    length 0. Keys and headers are there if the fetch was asked for them; `sde.decoding.headers`
    reads the latter. The arrays belong to the receiver: nothing writes to them again.
    """

    topic: str
    partition: int
    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    offsets: NDArray[np.int64]
    timestamps: NDArray[np.int64]  # ms since the epoch, -1 where the message has none
    keys: Pieces | None = None
    headers: Pieces | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    def part(self, first: int, stop: int) -> Messages:
        """The messages from index `first` to before `stop`, of which there is at least one."""
        begin = int(self.starts[first])
        return Messages(
            self.topic,
            self.partition,
            self.buffer[begin : self.ends[stop - 1] + 1],
            self.starts[first:stop] - begin,
            self.ends[first:stop] - begin,
            self.offsets[first:stop],
            self.timestamps[first:stop],
            self.keys.part(first, stop) if self.keys is not None else None,
            self.headers.part(first, stop) if self.headers is not None else None,
        )

    def payload(self, index: int) -> bytes:
        """A copy of one payload, for a dead letter."""
        return self.buffer[self.starts[index] : self.ends[index]].tobytes()
