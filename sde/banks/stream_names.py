"""Names of the streams in the slots of a layer, for answers and snapshots that name them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sde.storage.store import Store
from synopses import Texts

_SIZE, _LIVE = 0, 1
_SLACK = 64 << 10  # bytes of forgotten names that are not worth the trouble


class StreamNames:
    """One buffer of UTF-8, and for each slot where its name starts and how long it is.

    Forgotten names leave holes; when they are more than half of the buffer it is written anew.
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self.remap()

    def remap(self) -> None:
        """Take the arrays from the store again: another process may have changed them."""
        self._sizes = self._store.array(f"{self._name}.sizes", np.int64, (), 2)
        self._map_buffer()
        self._spans = self._store.array(f"{self._name}.spans", np.int64, (2,), 0)

    def _map_buffer(self) -> None:
        size = int(self._sizes[_SIZE])
        self._buffer = self._store.array(f"{self._name}.buffer", np.uint8, (), size)

    @property
    def bytes_held(self) -> int:
        """Memory of the names, which users are told as part of a synopsis."""
        return int(self._sizes[_SIZE])

    def put(self, slots: NDArray[np.int32], names: Texts) -> None:
        """Name i belongs to `slots[i]`, which has none."""
        if self._sizes[_SIZE] > 2 * self._sizes[_LIVE] + _SLACK:
            self._close_holes()
        self._spans = self._store.array(f"{self._name}.spans", np.int64, (2,), int(slots.max()) + 1)
        self._append(slots, names)
        self._sizes[_LIVE] += len(names.buffer)

    def _append(self, slots: NDArray[np.int32], names: Texts) -> None:
        start = int(self._sizes[_SIZE])
        self._sizes[_SIZE] += len(names.buffer)
        self._map_buffer()
        self._buffer[start : start + len(names.buffer)] = names.buffer
        self._spans[slots, 0] = start + names.offsets[:-1]
        self._spans[slots, 1] = np.diff(names.offsets)

    def forget(self, slots: NDArray[np.int32]) -> None:
        """The slots have no name any more; slots without one are passed over."""
        known = slots[slots < len(self._spans)]
        self._sizes[_LIVE] -= self._spans[known, 1].sum()
        self._spans[known, 1] = 0

    def of(self, slots: NDArray[np.int32]) -> list[str]:
        """The name in each slot, "" where there is none."""
        spans = self._spans[slots].tolist()
        return [self._buffer[at : at + n].tobytes().decode() for at, n in spans]

    def _close_holes(self) -> None:
        slots = np.flatnonzero(self._spans[:, 1]).astype(np.int32)
        names = Texts.of(self.of(slots))
        self._sizes[_SIZE] = 0
        self._append(slots, names)
