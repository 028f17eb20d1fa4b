"""Names of the streams in the slots of a layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sde.store import Store
from synopses import Texts


class Names:
    """One growing buffer of UTF-8, and for each slot where its name starts and how long it is."""

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self._size = store.array(f"{name}.size", np.int64, (), 1)
        self._buffer = store.array(f"{name}.buffer", np.uint8, (), int(self._size[0]))
        self._spans = store.array(f"{name}.spans", np.int64, (2,), 0)

    def put(self, slots: NDArray[np.int32], names: Texts) -> None:
        start = int(self._size[0])
        self._size[0] += len(names.buffer)
        self._buffer = self._store.array(f"{self._name}.buffer", np.uint8, (), int(self._size[0]))
        self._buffer[start : start + len(names.buffer)] = names.buffer
        self._spans = self._store.array(f"{self._name}.spans", np.int64, (2,), int(slots.max()) + 1)
        self._spans[slots, 0] = start + names.offsets[:-1]
        self._spans[slots, 1] = np.diff(names.offsets)

    def of(self, slots: NDArray[np.int32]) -> list[str]:
        spans = self._spans[slots].tolist()
        return [self._buffer[at : at + n].tobytes().decode() for at, n in spans]
