"""The fetched bytes, with room for the few texts that have to be written anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class TextPool:
    """`array` starts with the bytes it was made from; it may be another one after it has grown.

    Spans of names and values point into it: most into the fetched bytes, those of texts with
    escapes, or of numbers that became texts, behind them.

    >>> pool = TextPool(np.frombuffer(b"fetched", np.uint8))
    >>> start = pool.end
    >>> pool.append(np.frombuffer(b"new", np.uint8))
    >>> pool.array[start : pool.end].tobytes()
    b'new'
    """

    def __init__(self, buffer: NDArray[np.uint8]) -> None:
        # Kernels are compiled for writable arrays, though nothing is written to the first bytes.
        self.array: NDArray[np.uint8] = np.require(buffer, np.uint8, ["C", "W"])
        self._used = len(buffer)

    @property
    def end(self) -> int:
        """Where the next text will start."""
        return self._used

    def append(self, data: NDArray[np.uint8]) -> None:
        """Put texts behind the others; spans that point into the pool stay right."""
        self.reserve(len(data))
        self.array[self._used : self._used + len(data)] = data
        self._used += len(data)

    def reserve(self, size: int) -> None:
        """Room for `size` bytes more, behind `end`."""
        if self._used + size > len(self.array):
            grown = np.empty((self._used + size) * 5 // 4, np.uint8)
            grown[: self._used] = self.array[: self._used]
            self.array = grown

    def extend(self, end: int) -> None:
        """What a kernel wrote there, up to `end`, is part of the pool now."""
        self._used = end
