"""A chunk of messages while it is being filled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sde.decoding import Messages
from service.kafka.cursor import Cursor

Bytes = NDArray[np.uint8]
Longs = NDArray[np.int64]


class Chunk:
    """Fresh arrays, which belong to the reader of its messages; the system allots no memory to
    pages that stay unused. A kernel fills them and returns how far: `used` bytes, `filled` rows.
    """

    def __init__(self, cursor: Cursor, max_bytes: int, max_messages: int) -> None:
        self._topic, self._partition = cursor.topic, cursor.partition
        rows = min(max_messages, cursor.end - cursor.next)
        self.buffer = np.empty(max_bytes, np.uint8)
        self.starts, self.ends, self.offsets, self.timestamps = (
            np.empty(rows, np.int64) for _ in range(4)
        )
        self.used = self.filled = 0

    def state(self) -> tuple[Bytes, int, Longs, Longs, Longs, Longs, int]:
        """The arguments of a kernel that goes on filling the chunk, in the kernel's order."""
        return (
            self.buffer,
            self.used,
            self.starts,
            self.ends,
            self.offsets,
            self.timestamps,
            self.filled,
        )

    def make_room(self, size: int) -> None:
        """Make an empty chunk large enough for a message of so many bytes."""
        self.buffer = np.empty(size + 1, np.uint8)

    def messages(self) -> Messages:
        return Messages(
            self._topic,
            self._partition,
            self.buffer[: self.used],
            self.starts[: self.filled],
            self.ends[: self.filled],
            self.offsets[: self.filled],
            self.timestamps[: self.filled],
        )
