"""The arena of another process, to be looked at: nothing that is done here changes it."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sde.storage.arena import array_path, read_blob, small_path
from sde.storage.array_spec import ArraySpec
from sde.storage.small_arrays import SmallArrays


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
        self._small: dict[str, SmallArrays] = {}

    def array(self, name: str, dtype: DTypeLike, row: tuple[int, ...], rows: int) -> NDArray[Any]:
        group, spec = ArraySpec.of(name, dtype, row)
        small = self._small_arrays(group)
        if small is not None and small.rows(spec):
            array = small.array(spec)
        else:
            array = self._large(name, group, spec)
        if not len(array):  # nobody has needed it yet
            return np.zeros((rows, *row), spec.dtype)
        if rows > len(array):
            raise Unreadable(f"{name}: {len(array)} rows where {rows} are in use")
        return array

    def _small_arrays(self, group: str) -> SmallArrays | None:
        known = self._small.get(group)
        if known is None or not known.is_current:
            self._small.pop(group, None)
            try:
                known = SmallArrays(small_path(self._folder, group), is_private=True)
            except FileNotFoundError:
                return None
            self._small[group] = known
        return known

    def _large(self, name: str, group: str, spec: ArraySpec) -> NDArray[Any]:
        path = array_path(self._folder, group, spec)
        try:
            file = os.stat(path)
        except FileNotFoundError:
            return np.zeros((0, *spec.row), spec.dtype)
        mapped = self._maps.get(name)
        if mapped is None or (file.st_ino, file.st_size) != (mapped.inode, mapped.size):
            mapped = self._maps[name] = _map(path, spec)
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


def _map(path: str, spec: ArraySpec) -> _Mapped:
    with open(path, "rb") as file:
        found = os.fstat(file.fileno())
        rows = found.st_size // spec.row_bytes
        mapped = mmap.mmap(file.fileno(), found.st_size, access=mmap.ACCESS_COPY)
    array = np.frombuffer(mapped, spec.dtype, rows * math.prod(spec.row))
    return _Mapped(array.reshape(rows, *spec.row), found.st_ino, found.st_size)
