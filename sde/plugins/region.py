"""Memory that the engine's worker and the process of a plug-in both see: how blocks go over.

The worker writes arrays with `place` and sends the `PlacedArray`s; the process opens them with
`views`, may change them in place, and the worker reads them again with `views`.

A piece of memory has one size for ever: it is sealed, because a worker that reads what a plug-in
has cut off would be killed by the system. For more there is a new piece, which the process gets
with the next call.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

_SMALLEST = 1 << 20
_ALIGN = 64
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class PlacedArray(msgspec.Struct, frozen=True, array_like=True):
    """Where an array lies in the region."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int


class Region:
    """Arrays are written one after the other, in front again for each call.

    >>> region = Region()
    >>> placed = region.place({"values": np.array([1.0, 2.0])})
    >>> region.views(placed)["values"].tolist()
    [1.0, 2.0]
    >>> region.close()
    """

    def __init__(self, handle: int | None = None) -> None:
        """The region behind a file descriptor, or a new one."""
        self.handle = _sealed(_SMALLEST) if handle is None else handle
        self._map = _mapped(self.handle)

    def place(self, arrays: Mapping[str, NDArray[Any]]) -> list[PlacedArray]:
        """Copy arrays in; those of the call before are overwritten.

        If they have no room the region gets another `handle`.
        """
        placed = []
        end = 0
        for name, array in arrays.items():
            placed.append(PlacedArray(name, array.dtype.str, array.shape, end))
            end += -(-array.nbytes // _ALIGN) * _ALIGN
        if end > len(self._map):
            self.move_to(_sealed(max(end, 2 * len(self._map))))
        for array, view in zip(arrays.values(), self.views(placed).values(), strict=True):
            view[...] = array
        return placed

    def move_to(self, handle: int) -> None:
        """Be the region behind another file descriptor."""
        os.close(self.handle)
        self.handle, self._map = handle, _mapped(handle)

    def views(self, placed: Sequence[PlacedArray]) -> dict[str, NDArray[Any]]:
        """The arrays where they lie: nothing is copied, and writing changes the region."""
        views = {}
        for array in placed:
            count = int(np.prod(array.shape, dtype=np.int64))
            if count == 0:
                views[array.name] = np.empty(array.shape, array.dtype)
                continue
            flat = np.frombuffer(self._map, array.dtype, count, array.offset)
            views[array.name] = flat.reshape(array.shape)
        return views

    def close(self) -> None:
        """Give the memory back when the last view of it is gone; nothing may be called now."""
        os.close(self.handle)
        del self._map


def _sealed(size: int) -> int:
    """The file descriptor of new memory whose size nobody can change."""
    handle = os.memfd_create("sde-plugin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(handle, size)
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, _SEALS)
    return handle


def _mapped(handle: int) -> mmap.mmap:
    return mmap.mmap(handle, os.fstat(handle).st_size)
