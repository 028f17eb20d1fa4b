"""Named arrays that grow, and named blobs: all that a shard keeps.

A store hands out numpy arrays; asking again with more rows gives a longer array with the same
content. `MemoryStore` keeps them in this process; `sde.storage.arena` in memory-mapped files that
all Python workers of a host share.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Store(Protocol):
    def array(self, name: str, dtype: DTypeLike, row: tuple[int, ...], rows: int) -> NDArray[Any]:
        """The array `name` of at least `rows` rows of shape `row`; new rows are zero."""

    def drop(self, group: str) -> None:
        """Forget every array and blob whose name has `group` before its first dot."""

    def read_blob(self, name: str, start: int = 0) -> bytes | None:
        """The blob from byte `start` on; None if there is none."""

    def write_blob(self, name: str, data: bytes) -> None: ...

    def append_blob(self, name: str, data: bytes) -> None: ...

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """All arrays, by name."""

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        """All blobs, by name."""


def capacity_for(rows: int, held: int) -> int:
    """Doubling: growing one by one costs a constant per row."""
    return held if rows <= held else max(rows, 2 * held, 4)


class MemoryStore:
    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}
        self._blobs: dict[str, bytes] = {}

    def array(self, name: str, dtype: DTypeLike, row: tuple[int, ...], rows: int) -> NDArray[Any]:
        held = self._arrays.get(name)
        if held is None:
            held = np.zeros((0, *row), dtype)
        capacity = capacity_for(rows, len(held))
        if capacity > len(held) or name not in self._arrays:
            grown = np.zeros((capacity, *row), dtype)
            grown[: len(held)] = held
            self._arrays[name] = grown
        return self._arrays[name]

    def drop(self, group: str) -> None:
        self._arrays = {n: a for n, a in self._arrays.items() if n.partition(".")[0] != group}
        self._blobs = {n: b for n, b in self._blobs.items() if n.partition(".")[0] != group}

    def read_blob(self, name: str, start: int = 0) -> bytes | None:
        held = self._blobs.get(name)
        return None if held is None else held[start:]

    def write_blob(self, name: str, data: bytes) -> None:
        self._blobs[name] = data

    def append_blob(self, name: str, data: bytes) -> None:
        self._blobs[name] = self._blobs.get(name, b"") + data

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        return iter(sorted(self._arrays.items()))

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        return iter(sorted(self._blobs.items()))
