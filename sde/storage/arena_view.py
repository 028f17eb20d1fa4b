"""The arena of another process, to be looked at: nothing that is done here changes it."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sde.storage.arena import array_path, bytes_of_row, read_blob


class _Mapped(NamedTuple):
    array: NDArray[Any]
    inode: int
    size: int


class ArenaView:
    """A `sde.storage.store.Store` over the files of an arena; `sde.shard.reader` has its lock.

    Maps are private: what is written to an array is seen by nobody else. Whether a file has grown,
    or is another one, is looked at whenever an array is asked for.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._maps: dict[str, _Mapped] = {}

    def array(self, name: str, dtype: DTypeLike, row: tuple[int, ...], rows: int) -> NDArray[Any]:
        kind = np.dtype(dtype)
        path = array_path(self._folder, name, kind, row)
        try:
            file = os.stat(path)
        except FileNotFoundError:  # nobody has needed it yet
            return np.zeros((rows, *row), kind)
        mapped = self._maps.get(name)
        if mapped is None or (file.st_ino, file.st_size) != (mapped.inode, mapped.size):
            mapped = self._maps[name] = _map(path, kind, row)
        if rows > len(mapped.array):
            raise Unreadable(f"{path}: {len(mapped.array)} rows where {rows} are in use")
        return mapped.array

    def read_blob(self, name: str, start: int = 0) -> bytes | None:
        return read_blob(self._folder, name, start)

    def drop(self, group: str) -> None:
        raise Unreadable("a view of an arena cannot be changed")

    def write_blob(self, name: str, data: bytes) -> None:
        raise Unreadable("a view of an arena cannot be changed")

    def append_blob(self, name: str, data: bytes) -> None:
        raise Unreadable("a view of an arena cannot be changed")

    def arrays(self, group: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
        raise Unreadable("a view of an arena has the arrays that are asked for by name")

    def blobs(self, group: str = "") -> Iterator[tuple[str, bytes]]:
        raise Unreadable("a view of an arena has the blobs that are asked for by name")


class Unreadable(Exception):
    """What is there cannot be looked at: the engine has to be asked."""


def _map(path: str, dtype: np.dtype[Any], row: tuple[int, ...]) -> _Mapped:
    with open(path, "rb") as file:
        found = os.fstat(file.fileno())
        rows = found.st_size // bytes_of_row(dtype, row)
        if not rows:
            return _Mapped(np.zeros((0, *row), dtype), found.st_ino, found.st_size)
        mapped = mmap.mmap(file.fileno(), found.st_size, access=mmap.ACCESS_COPY)
    array = np.frombuffer(mapped, dtype, rows * int(np.prod(row, dtype=np.int64)))
    return _Mapped(array.reshape(rows, *row), found.st_ino, found.st_size)
