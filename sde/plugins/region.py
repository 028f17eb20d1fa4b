"""Memory that the engine's worker and the process of a plug-in both see: how blocks go over.

The worker writes arrays with `place` and sends the `PlacedArray`s; the process opens them with
`views`, may change them in place, and the worker reads them again with `views`.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

_SMALLEST = 1 << 20
_ALIGN = 64


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
        self.handle = os.memfd_create("sde-plugin") if handle is None else handle
        self._map: mmap.mmap | None = None
        self.size = 0

    def place(self, arrays: Mapping[str, NDArray[Any]]) -> list[PlacedArray]:
        """Copy arrays in; those of the call before are overwritten."""
        placed = []
        end = 0
        for name, array in arrays.items():
            placed.append(PlacedArray(name, array.dtype.str, array.shape, end))
            end += -(-array.nbytes // _ALIGN) * _ALIGN
        if end > self.size:
            size = max(end, 2 * self.size, _SMALLEST)
            os.ftruncate(self.handle, size)
            self.follow(size)
        for array, view in zip(arrays.values(), self.views(placed).values(), strict=True):
            view[...] = array
        return placed

    def follow(self, size: int) -> None:
        """See as much of the memory as the other side."""
        if size > self.size:
            self._map, self.size = mmap.mmap(self.handle, size), size

    def views(self, placed: Sequence[PlacedArray]) -> dict[str, NDArray[Any]]:
        """The arrays where they lie: nothing is copied, and writing changes the region."""
        views = {}
        for array in placed:
            count = int(np.prod(array.shape, dtype=np.int64))
            if count == 0:
                views[array.name] = np.empty(array.shape, array.dtype)
                continue
            assert self._map is not None
            flat = np.frombuffer(self._map, array.dtype, count, array.offset)
            views[array.name] = flat.reshape(array.shape)
        return views

    def close(self) -> None:
        """Give the memory back; views must not be used any more."""
        self._map, self.size = None, 0
        os.close(self.handle)
