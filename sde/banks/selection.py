"""The columns of a block that synopses read, decoded and hashed once however many read them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sde.banks.cells import Cells, cells_of
from sde.banks.distinct_keys import DistinctKeys, Numbered, number_keys
from sde.banks.groups import Groups
from sde.expressions import Expression, holds
from sde.kernels import panes as kernel
from sde.tuples.block import Block, Key
from sde.tuples.column import Coded, Column
from sde.tuples.times import NO_TIME, event_times
from sde.wire.windows import ARRIVAL, Window
from synopses import Items, Texts
from synopses.fixed_point import sum_up

_NO_TEXTS = Texts(np.empty(0, np.uint8), np.zeros(1, np.int64))
_ENOUGH = 2  # layers for which it pays to find the distinct keys of a block
STREAM, TIME = "$stream", "$time"  # in a condition: what a tuple has beside its fields
Selected = tuple[Items, NDArray[np.bool_] | None]


class Sharing(NamedTuple):
    """Layers with the same can share the distinct keys of a block."""

    key: Key
    where: str  # the condition; "": every tuple counts
    is_whole: bool  # a synopsis of the whole data set, not of each stream
    window: Window | None


class Placed(NamedTuple):
    """The pane of each tuple, or NO_PANE; tuples by the kernel's counters; the latest time."""

    panes: NDArray[np.int64]
    counters: NDArray[np.int64]
    latest: int


class Selection:
    """Items of one block by key field, value fields and the columns a kind reads.

    A shard makes one for each block and hands it to every layer of the data set; `sharing` says
    how many of these there are of each `Layer.sharing`. Arrays are shared between layers: nobody
    may change them.
    """

    def __init__(self, block: Block, sharing: Mapping[Sharing | None, int]) -> None:
        self.block = block
        self._sharing = sharing
        self.items = cache(self._items)
        self.groups = cache(self._groups)
        self.placed = cache(self._placed)
        self.placed_cells = cache(self._placed_cells)
        self.where = cache(self._where)
        self._event_times = cache(self._compute_event_times)
        self._numbered = cache(self._number)
        self._distinct_keys = cache(self._find_distinct_keys)

    def _where(self, condition: Expression) -> Selection:
        """Only the tuples that the condition is true of."""
        block = self.block
        has_time = block.times != NO_TIME if block.removes else None
        beside = {
            STREAM: Column(Coded(block.streams, block.stream_of)),
            TIME: Column(block.times, has_time),
        }
        true = holds(condition, {**block.fields, **beside}, len(block))
        return self if true.all() else Selection(block.take(np.flatnonzero(true)), self._sharing)

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
        self, key: Key, values: tuple[str, ...], time: str, reads: frozenset[str]
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

    # -- groups ---------------------------------------------------------------------------------

    def _groups(self, is_whole: bool) -> Groups:
        """The tuples of each stream, or all together."""
        block = self.block
        if is_whole:
            return Groups(np.zeros(len(block), np.int32), 1)
        return Groups(block.stream_of, len(block.streams))

    def place(self, window: Window, watermark: int | None, chosen: NDArray[np.bool_]) -> Placed:
        """The panes of the tuples of `chosen` streams."""
        panes, counters = np.empty(len(self.block), np.int64), np.zeros(4, np.int64)
        latest = kernel.place(
            self.times(window),
            self.arrivals,
            self.block.stream_of,
            chosen,
            window.pane,
            window.lateness,
            -1 if window.time == ARRIVAL else window.skew,
            NO_TIME if watermark is None else watermark,
            panes,
            counters,
        )
        return Placed(panes, counters, int(latest))

    def _placed(self, window: Window, watermark: int | None) -> Placed:
        """The panes of all tuples, the same for all layers with such a window."""
        return self.place(window, watermark, np.ones(len(self.block.streams), np.bool_))

    def cells(self, panes: NDArray[np.int64], is_whole: bool) -> Cells:
        """The pairs of stream, or the whole data set, and pane."""
        groups = self.groups(is_whole)
        return cells_of(panes, groups.of_tuple, groups.count)

    def _placed_cells(self, window: Window, watermark: int | None, is_whole: bool) -> Cells:
        """The cells of all tuples, the same for all layers with such a window."""
        return self.cells(self.placed(window, watermark).panes, is_whole)

    # -- distinct keys --------------------------------------------------------------------------

    def distinct_keys(
        self, sharing: Sharing, values: tuple[str, ...], decimals: int | None, groups: Groups
    ) -> DistinctKeys | None:
        """Each key of each group once, with the sums of weights; None where that is no gain.

        `decimals` is that of the weights, None for a kind that reads keys only.
        """
        if self._sharing[sharing] < _ENOUGH:
            return None
        return self._distinct_keys(sharing.key, values, decimals, groups)

    def _find_distinct_keys(
        self, key: Key, values: tuple[str, ...], decimals: int | None, groups: Groups
    ) -> DistinctKeys | None:
        numbered = self._numbered(key, groups)
        if numbered is None:
            return None
        reads = frozenset({"keys"} if decimals is None else {"keys", "values"})
        items, usable = self.items(key, values, "", reads)
        number_of, weights = numbered.number_of, items.values
        added = number_of >= 0 if usable is None else usable & (number_of >= 0)
        count = len(numbered.keys)
        sums = None
        if decimals is not None:
            if not added.all():
                number_of, weights = number_of[added], weights[added]
            sums = sum_up(weights, decimals, number_of, count)
        none = np.zeros(groups.count, np.int64)
        return DistinctKeys(
            items=Items(
                keys=numbered.keys,
                texts=_NO_TEXTS,
                values=np.empty(0),
                times=np.empty(0, np.int64),
                ids=np.empty(0, np.uint64),
                size=count,
                sums=sums,
            ),
            group_of=numbered.group_of,
            tuples=groups.sizes(usable),
            skipped=none if usable is None else groups.sizes(~usable),
        )

    def _number(self, key: Key, groups: Groups) -> Numbered | None:
        """The distinct keys of each group, of tuples that have a key."""
        keys, valid = self.block.keys(key)
        if valid is not None:
            of_tuple = np.where(valid, groups.of_tuple, np.int32(-1))
            groups = Groups(of_tuple, groups.count)
        return number_keys(keys, groups)
