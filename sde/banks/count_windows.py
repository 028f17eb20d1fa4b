"""Windows by the number of tuples of a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.banks.bank import Bank
from sde.banks.layer import Kept
from sde.banks.panes import PanedLayer
from sde.banks.selection import Selection
from sde.banks.slot_table import SlotTable
from sde.kernels import panes as kernel
from sde.storage.store import Store
from sde.wire import Definition


class CountedLayer(PanedLayer):
    """Pane n of a stream holds its tuples from n times the pane's length on."""

    def __init__(self, store: Store, name: str, bank: Bank, definition: Definition) -> None:
        self._counter_of = SlotTable(store, f"{name}.counter_of")
        super().__init__(store, name, bank, definition)

    def _map(self) -> None:
        super()._map()
        self._counts = self._array("counts", len(self._counter_of))

    def remap(self) -> None:
        self._counter_of.remap()
        super().remap()

    def _other_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._other_arrays(), "counts": self._counts[: len(self._counter_of)]}

    def _other_tables(self) -> list[SlotTable]:
        return [*super()._other_tables(), self._counter_of]

    @property
    def reads_times(self) -> bool:
        return "times" in type(self.bank.template).reads

    def _place(self, selection: Selection, watermark: int | None, panes: NDArray[np.int64]) -> None:
        block = selection.block
        chosen = self._chosen(selection)
        counters = self._counters_of(block.stream_hashes, chosen)
        kernel.place_by_count(
            self._counts, counters, block.stream_of, chosen, self.window.pane, panes
        )

    def _counters_of(
        self, hashes: NDArray[np.uint64], chosen: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        """Which counter belongs to each stream; those that are new get one."""
        found = self._counter_of.find(hashes)
        new = np.flatnonzero(chosen & (found < 0))
        if len(new):
            start = len(self._counter_of)
            found[new] = np.arange(start, start + len(new))
            self._counter_of.insert(hashes[new], found[new])
            self._counts = self._array("counts", len(self._counter_of))
        return found

    def _begin(
        self, slots: NDArray[np.int32], streams: NDArray[np.uint64], panes: NDArray[np.int64]
    ) -> None:
        """A pane that begins sends an old one of the same stream away."""
        super()._begin(slots, streams, panes)
        for stream, pane in zip(streams, panes.tolist(), strict=True):
            old = self._keys(stream, np.array([pane - self.window.panes]))
            gone = self.table.find(old)
            self._free(old[gone >= 0], gone[gone >= 0])

    def now_for(self, stream: np.uint64) -> int | None:
        """The number of the stream's last tuple."""
        counter = int(self._counter_of.find(np.array([stream]))[0])
        return int(self._counts[counter]) - 1 if counter >= 0 else None

    def clear(self) -> None:
        super().clear()
        self._counts[:] = 0

    def _reach(self, stream: np.uint64, kept: Kept, time: int) -> None:
        counter = self._counters_of(np.array([stream]), np.ones(1, np.bool_))
        reached = time + kept.tuples + kept.skipped
        self._counts[counter] = np.maximum(self._counts[counter], reached)

    def drop_stream(self, stream: np.uint64) -> None:
        super().drop_stream(stream)
        counter = int(self._counter_of.find(np.array([stream]))[0])
        if counter >= 0:
            self._counts[counter] = 0

    @property
    def _index_bytes(self) -> int:
        return super()._index_bytes + self._counter_of.bytes_held + self._counts.nbytes

    def expire(self, watermark: int) -> None:
        """Time does not matter here."""
