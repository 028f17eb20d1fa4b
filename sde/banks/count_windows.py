"""Windows by the number of tuples of a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.banks.bank import Bank
from sde.banks.cells import Cells
from sde.banks.layer import Kept, Reach
from sde.banks.panes import PanedLayer
from sde.banks.selection import Selection
from sde.banks.slot_table import SlotTable
from sde.kernels import panes as kernel
from sde.storage.store import Store
from sde.wire import Definition


class CountedLayer(PanedLayer):
    """Pane n of a stream holds its tuples from n times the pane's length on.

    A stream has a counter of its tuples while it has panes.
    """

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
    def _adds_times(self) -> bool:
        return "times" in type(self.bank.template).reads

    # -- data -----------------------------------------------------------------------------------

    @property
    def _can_remove(self) -> bool:
        """Nobody knows how many tuples came before one that is to be taken away."""
        return False

    def _add_block(self, selection: Selection, room: int, watermark: int | None) -> None:
        known = len(self._counter_of)
        super()._add_block(selection, room, watermark)
        if len(self._counter_of) > known:
            self._forget_refused(selection.block.stream_hashes, known)

    def _pass_time(self, selection: Selection) -> None:
        """Time does not matter here."""

    def _cells(self, selection: Selection, watermark: int | None) -> Cells:
        """Tuples that others of their block push out of all windows are not added at all."""
        block = selection.block
        chosen = self._chosen(selection)
        panes = np.empty(len(block), np.int64)
        counters = self._counters_of(block.stream_hashes, chosen)
        own = counters[chosen]
        last_before = (self._counts[own] - 1) // self.window.pane
        kernel.place_by_count(
            self._counts, counters, block.stream_of, chosen, self.window.pane, panes
        )
        first_kept = (self._counts[own] - 1) // self.window.pane - self.window.panes + 1
        self._let_go(block.stream_hashes[chosen], last_before, first_kept)
        if (first_kept > last_before + 1).any():
            oldest = np.zeros(len(chosen), np.int64)
            oldest[chosen] = first_kept
            panes[panes < oldest[block.stream_of]] = kernel.NO_PANE
        return selection.cells(panes, self.reach is Reach.WHOLE)

    def _let_go(
        self,
        streams: NDArray[np.uint64],
        last: NDArray[np.int64],
        first_kept: NDArray[np.int64],
    ) -> None:
        """Give back the panes before `first_kept` of streams whose last pane was `last`."""
        first = np.maximum(last - self.window.panes + 1, 0)
        count = np.maximum(np.minimum(last + 1, first_kept) - first, 0)
        if not count.any():
            return
        number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        keys = self._keys(np.repeat(streams, count), np.repeat(first, count) + number)
        slots = self.table.find(keys)
        self._free(keys[slots >= 0], slots[slots >= 0])

    # -- counters -------------------------------------------------------------------------------

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
            self._counts[found[new]] = 0
        return found

    def _forget_refused(self, streams: NDArray[np.uint64], known: int) -> None:
        """Streams that found no room lose the counters they were given, which are the last."""
        counters = self._counter_of.find(streams)
        new = np.argsort(counters, kind="stable")[np.count_nonzero(counters < known) :]
        streams, counters = streams[new], counters[new]
        last = (self._counts[counters] - 1) // self.window.pane
        has_pane = self.table.find(self._keys(streams, last)) >= 0
        if has_pane.all():
            return
        counts = self._counts[counters[has_pane]]
        self._counter_of.remove(streams)
        again = np.arange(known, known + len(counts), dtype=np.int32)
        self._counter_of.insert(streams[has_pane], again)
        self._counts[again] = counts

    def _forget_streams_without_panes(self) -> None:
        """Their counters are needed no more; the others move together."""
        streams, counters = self._counter_of.entries()
        stays = np.isin(streams, self._stream_of[self.slots(None)])
        if stays.all():
            return
        counts = self._counts[counters[stays]]
        self._counter_of.clear()
        self._counter_of.insert(streams[stays], np.arange(len(counts), dtype=np.int32))
        self._counts[: len(counts)] = counts

    def sweep(self, tick: int) -> None:
        before = len(self.table)
        super().sweep(tick)
        if len(self.table) < before:
            self._forget_streams_without_panes()

    def drop_stream(self, stream: np.uint64) -> None:
        super().drop_stream(stream)
        self._forget_streams_without_panes()

    def clear(self) -> None:
        super().clear()
        self._counter_of.clear()

    def now_for(self, stream: np.uint64) -> int | None:
        """The number of the stream's last tuple."""
        counter = int(self._counter_of.find(np.array([stream]))[0])
        return int(self._counts[counter]) - 1 if counter >= 0 else None

    def _gone_for(self, stream: np.uint64) -> int | None:
        last = self.now_for(stream)
        if last is None:
            return None
        first = last // self.window.pane - self.window.panes + 1
        return first * self.window.pane if first > 0 else None

    def _reach(self, stream: np.uint64, kept: Kept, time: int) -> None:
        counter = self._counters_of(np.array([stream]), np.ones(1, np.bool_))
        reached = time + kept.tuples + kept.skipped
        self._counts[counter] = np.maximum(self._counts[counter], reached)

    @property
    def _index_bytes(self) -> int:
        return super()._index_bytes + self._counter_of.bytes_held + self._counts.nbytes

    def expire(self, watermark: int) -> None:
        """Time does not matter here."""
