"""A chunk of messages while it is being filled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sde.decoding import Messages, Pieces
from service.kafka.cursor import Cursor

Bytes = NDArray[np.uint8]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChunkShape:
    """How large chunks become, and what they have beside the payloads.

    Keys and headers together have `max_bytes` of their own.
    """

    max_bytes: int
    max_messages: int
    keys: bool = False
    headers: bool = False


class Chunk:
    """Fresh arrays, which belong to the reader of its messages; the system allots no memory to
    pages that stay unused. A kernel fills them and returns how far: `used` bytes, `filled` rows,
    and `extra_used` bytes of keys and headers.
    """

    def __init__(self, cursor: Cursor, shape: ChunkShape) -> None:
        self._topic, self._partition = cursor.topic, cursor.partition
        self._shape = shape
        rows = min(shape.max_messages, cursor.end - cursor.next)
        self.buffer = np.empty(shape.max_bytes, np.uint8)
        self.starts, self.ends, self.offsets, self.timestamps = (
            np.empty(rows, np.int64) for _ in range(4)
        )
        self._keys = np.empty((2, rows if shape.keys else 0), np.int64)
        self._headers = np.empty((2, rows if shape.headers else 0), np.int64)
        self._extra = np.empty(shape.max_bytes, np.uint8)
        self.used = self.filled = self.extra_used = 0

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

    def extra_state(self) -> tuple[Bytes, int, Longs, Longs]:
        """Those that are for keys and headers."""
        return self._extra, self.extra_used, self._keys, self._headers

    def make_room(self, size: int) -> None:
        """Make an empty chunk large enough for a message of so many bytes."""
        self.buffer, self._extra = np.empty(size + 1, np.uint8), np.empty(size, np.uint8)

    def messages(self) -> Messages:
        return Messages(
            self._topic,
            self._partition,
            self.buffer[: self.used],
            self.starts[: self.filled],
            self.ends[: self.filled],
            self.offsets[: self.filled],
            self.timestamps[: self.filled],
            self._pieces(self._keys) if self._shape.keys else None,
            self._pieces(self._headers) if self._shape.headers else None,
        )

    def _pieces(self, spans: Longs) -> Pieces:
        return Pieces(self._extra[: self.extra_used], *spans[:, : self.filled])
