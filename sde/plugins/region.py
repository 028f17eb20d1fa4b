"""Memory that the engine's worker and the process of a plug-in both see: how blocks go over."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SMALLEST = 1 << 20
_ALIGN = 64

Placed = list[Any]  # name, dtype, shape, offset of an array


class Region:
    """Arrays are written one after the other, in front again for each call."""

    def __init__(self, handle: int | None = None) -> None:
        self.handle = os.memfd_create("sde-plugin") if handle is None else handle
        self._map: mmap.mmap | None = None
        self.size = 0

    def place(self, arrays: Mapping[str, NDArray[Any]]) -> list[Placed]:
        """Where each of these arrays now lies."""
        placed: list[Placed] = []
        end = 0
        for name, array in arrays.items():
            placed.append([name, array.dtype.str, list(array.shape), end])
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

    def views(self, placed: list[Placed]) -> dict[str, NDArray[Any]]:
        """The arrays where they lie: nothing is copied."""
        views = {}
        for name, dtype, shape, offset in placed:
            count = int(np.prod(shape, dtype=np.int64))
            if count == 0:
                views[name] = np.empty(shape, dtype)
                continue
            assert self._map is not None
            flat = np.frombuffer(self._map, dtype, count, offset)
            views[name] = flat.reshape(shape)
        return views

    def close(self) -> None:
        self._map, self.size = None, 0
        os.close(self.handle)
