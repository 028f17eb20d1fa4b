"""A chunk of messages while it is being filled."""

from __future__ import annotations

import numpy as np

from sde.decoding import Messages
from service.kafka.cursor import Cursor


class Chunk:
    """Fresh memory, which belongs to who gets its messages; pages that stay unused are never
    made real. A kernel fills the arrays and says how far it came: `used` bytes, `filled` rows."""

    def __init__(self, cursor: Cursor, max_bytes: int, max_messages: int) -> None:
        self._topic, self._partition = cursor.topic, cursor.partition
        rows = min(max_messages, cursor.end - cursor.next)
        self.buffer = np.empty(max_bytes, np.uint8)
        self.starts, self.ends, self.offsets, self.timestamps = (
            np.empty(rows, np.int64) for _ in range(4)
        )
        self.used = self.filled = 0

    def make_room(self, size: int) -> None:
        """For one message, larger than the chunk, while there is nothing in it."""
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
