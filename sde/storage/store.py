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
    """What banks, layers and tables are built on. Names are `group.rest`; see `drop`."""

    def array(self, name: str, dtype: DTypeLike, row: tuple[int, ...], rows: int) -> NDArray[Any]:
        """The array `name` of at least `rows` rows of shape `row`; new rows are zero.

        It may be longer than asked for. Writing to it changes the store; an array that was handed
        out before may show the old content after a longer one was asked for, so ask again.
        """

    def drop(self, group: str) -> None:
        """Forget every array and blob whose name has `group` before its first dot."""

    def read_blob(self, name: str, start: int = 0) -> bytes | None:
        """The blob from byte `start` on; None if there is none."""

    def write_blob(self, name: str, data: bytes) -> None:
        """Make or replace a blob."""

    def append_blob(self, name: str, data: bytes) -> None:
        """Make a blob, or make it longer."""

    def arrays(self, group: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
        """All arrays, or those of a group, by name."""

    def blobs(self, group: str = "") -> Iterator[tuple[str, bytes]]:
        """All blobs, or those of a group, by name."""


def group_of(name: str) -> str:
    """The group that a name belongs to.

    >>> group_of("bank.a.cells")
    'bank'
    """
    return name.partition(".")[0]


def capacity_for(rows: int, capacity: int) -> int:
    """The rows to make room for; doubling, so that growing one by one costs a constant per row.

    >>> [capacity_for(rows, 4) for rows in (3, 5, 100)]
    [4, 8, 100]
    """
    return capacity if rows <= capacity else max(rows, 2 * capacity, 4)


class MemoryStore:
    """A store in this process, for shards that need not outlive it.

    >>> store = MemoryStore()
    >>> store.array("bank.tuples", np.int64, (), 1)[0] = 7
    >>> store.array("bank.tuples", np.int64, (), 100)[0]
    np.int64(7)
    """

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}
        self._blobs: dict[str, bytes] = {}

    def array(self, name: str, dtype: DTypeLike, row: tuple[int, ...], rows: int) -> NDArray[Any]:
        array = self._arrays.get(name)
        if array is None:
            array = np.zeros((0, *row), dtype)
        capacity = capacity_for(rows, len(array))
        if capacity > len(array) or name not in self._arrays:
            grown = np.zeros((capacity, *row), dtype)
            grown[: len(array)] = array
            self._arrays[name] = grown
        return self._arrays[name]

    def drop(self, group: str) -> None:
        self._arrays = {n: a for n, a in self._arrays.items() if group_of(n) != group}
        self._blobs = {n: b for n, b in self._blobs.items() if group_of(n) != group}

    def read_blob(self, name: str, start: int = 0) -> bytes | None:
        blob = self._blobs.get(name)
        return None if blob is None else blob[start:]

    def write_blob(self, name: str, data: bytes) -> None:
        self._blobs[name] = data

    def append_blob(self, name: str, data: bytes) -> None:
        self._blobs[name] = self._blobs.get(name, b"") + data

    def arrays(self, group: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
        return iter(sorted((n, a) for n, a in self._arrays.items() if group in ("", group_of(n))))

    def blobs(self, group: str = "") -> Iterator[tuple[str, bytes]]:
        return iter(sorted((n, b) for n, b in self._blobs.items() if group in ("", group_of(n))))
