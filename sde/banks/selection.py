"""The columns of a block that synopses read, decoded and hashed once however many read them."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from sde.tuples.block import Block
from sde.tuples.times import NO_TIME, event_times
from sde.wire.windows import ARRIVAL, Window
from synopses import Items, Texts

_NO_TEXTS = Texts(np.empty(0, np.uint8), np.zeros(1, np.int64))
Selected = tuple[Items, NDArray[np.bool_] | None]


class Selection:
    """Items of one block by key field, value fields and the columns a kind reads.

    A shard makes one for each block and hands it to every layer of the data set. Arrays are shared
    between layers: nobody may change them.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.items = cache(self._items)
        self._event_times = cache(self._compute_event_times)

    def times(self, window: Window) -> NDArray[np.int64]:
        """When each tuple happened, by a window's clock; NO_TIME where that cannot be told."""
        if window.time == ARRIVAL:
            return self.arrivals
        if not window.time:
            return self.block.times
        return self._event_times(window.time, window.format)

    def _compute_event_times(self, field: str, form: str) -> NDArray[np.int64]:
        return event_times(self.block.column(field), form)

    @property
    def arrivals(self) -> NDArray[np.int64]:
        """When the broker got each tuple."""
        block = self.block
        return block.times if block.arrivals is None else block.arrivals

    def _items(
        self, key: str, values: tuple[str, ...], time: str, reads: frozenset[str]
    ) -> Selected:
        """The items, and which tuples have all that is read (None: every one)."""
        block = self.block
        usable: NDArray[np.bool_] | None = None
        keys, texts, numbers = np.empty((0, 2), np.uint64), _NO_TEXTS, np.empty(0)
        if key and reads & {"keys", "texts"}:
            keys, usable = block.keys(key)
            texts = block.texts(key) if "texts" in reads else texts
        if "values" in reads:
            numbers = self._numbers(values)
            finite: NDArray[np.bool_] = np.isfinite(numbers)
            if finite.ndim == 2:
                finite = np.logical_and.reduce(finite, axis=1)
            if not finite.all():
                usable = finite if usable is None else usable & finite
        times = np.empty(0, np.int64)
        if "times" in reads:
            times = self._event_times(time, "auto") if time else block.times
            timed = times != NO_TIME
            if not timed.all():
                usable = timed if usable is None else usable & timed
        items = Items(
            keys=keys,
            texts=texts,
            values=numbers,
            times=times,
            ids=block.ids() if "ids" in reads else np.empty(0, np.uint64),
            size=len(block),
        )
        return items, usable

    def _numbers(self, fields: tuple[str, ...]) -> NDArray[np.float64]:
        if not fields:
            return np.ones(len(self.block))
        columns = [self.block.numbers(field) for field in fields]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)
