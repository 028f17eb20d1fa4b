"""Which slot belongs to which stream: a hash table that lives in a store."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sde.kernels import slot_table as kernel
from sde.storage.store import Store

_SMALLEST = 8


class SlotTable:
    """Open addressing, hashes to slots. Streams are known by the first word of their name's hash;
    layers with panes use a hash of stream and pane.

    `_size` holds the number of entries, the number of places in use (removed entries included), and
    the number of places.

    >>> from sde.storage.store import MemoryStore
    >>> table = SlotTable(MemoryStore(), "t")
    >>> table.insert(np.array([7, 9], np.uint64), np.array([0, 1], np.int32))
    >>> table.find(np.array([9, 8], np.uint64)).tolist()
    [1, -1]
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self.remap()

    def remap(self) -> None:
        """Take the arrays from the store again: another process may have changed them."""
        self._size = self._store.array(f"{self._name}.size", np.int64, (), 3)
        self._map(max(_SMALLEST, int(self._size[2])))

    def _map(self, places: int) -> None:
        if self._size[2] != places:  # who only reads writes nothing
            self._size[2] = places
        self._hashes = self._store.array(f"{self._name}.hashes", np.uint64, (), places)[:places]
        self._marks = self._store.array(f"{self._name}.marks", np.int32, (), places)[:places]

    @property
    def bytes_held(self) -> int:
        """Memory of the table, which users are told as part of a synopsis."""
        return self._hashes.nbytes + self._marks.nbytes

    def __len__(self) -> int:
        return int(self._size[0])

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The slot of each hash, -1 where there is none."""
        slots = np.empty(len(hashes), np.int32)
        kernel.find(self._hashes, self._marks, hashes, slots)
        return slots

    def insert(self, hashes: NDArray[np.uint64], slots: NDArray[np.int32]) -> None:
        """Add hashes that are not in the table yet."""
        if 2 * (self._size[1] + len(hashes)) > len(self._marks):
            self._rebuild(len(self) + len(hashes))
        kernel.insert(self._hashes, self._marks, hashes, slots)
        self._size[:2] += len(hashes)

    def remove(self, hashes: NDArray[np.uint64]) -> None:
        """Forget hashes; those that are not there are passed over."""
        self._size[0] -= kernel.remove(self._hashes, self._marks, hashes)

    def clear(self) -> None:
        """Forget all, and begin small again."""
        self._map(_SMALLEST)
        self._marks[:] = 0
        self._size[:2] = 0

    def entries(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """All hashes and their slots."""
        live = self._marks > 0
        return self._hashes[live].copy(), self._marks[live] - np.int32(1)

    def _rebuild(self, entries: int) -> None:
        """Make the table a quarter full, so that inserting costs a constant on average."""
        hashes, slots = self.entries()
        places = _SMALLEST
        while places < 4 * entries:
            places *= 2
        self._map(places)
        self._marks[:] = 0
        kernel.insert(self._hashes, self._marks, hashes, slots)
        self._size[1] = len(hashes)
