"""Kinds with a window of their own by time, told the number of a tuple in place of its time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sde.banks.bank import Bank
from sde.banks.layer import Layer
from sde.banks.selection import Selection
from sde.kernels import panes as kernel
from sde.storage.store import Store
from sde.wire import Definition
from synopses import Items


class OrdinalLayer(Layer):
    """Tuple n of a stream happened n intervals after its first: a window by count."""

    def __init__(self, store: Store, name: str, bank: Bank, definition: Definition) -> None:
        super().__init__(store, name, bank, replace(definition, window=None))
        self._interval = round(1000 * definition.params["interval"])

    @property
    def _can_remove(self) -> bool:
        """Nobody knows how many tuples came before one that is to be taken away."""
        return False

    @property
    def _adds_times(self) -> bool:
        return False

    def _items(
        self, selection: Selection, slots: NDArray[np.int32]
    ) -> tuple[Items, NDArray[np.bool_] | None]:
        reads = type(self.bank.template).reads - {"times"}
        items, usable = selection.items(self.key, self.values, self.time, reads)
        numbers = np.empty(len(slots), np.int64)
        kernel.ordinals(slots, self.bank.tuples + self.bank.skipped, numbers)
        return replace(items, times=numbers * self._interval), usable
