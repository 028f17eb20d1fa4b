"""Layers of windowed synopses: a slot for each stream and pane.

A pane is a slot like any other, so adding costs what it costs without a window; nothing is done
when a pane closes. Panes are merged when somebody asks, and given back when no window that may be
asked for holds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from sde.banks.bank import Bank
from sde.banks.cells import Cells
from sde.banks.intervals import Interval, asked, closing, horizon, open_window, require_kept
from sde.banks.layer import WHOLE_STREAM, Held, Kept, Layer, Reach
from sde.banks.pane_sums import PaneSums, merge_all
from sde.banks.selection import Placed, Selection, Sharing
from sde.banks.sessions import Cell, Session, sessions
from sde.banks.slot_table import SlotTable
from sde.kernels import panes as kernel
from sde.records.left_out import LeftOut
from sde.records.loop import Reached
from sde.registry.watermarks import later
from sde.storage.store import Store
from sde.tuples.times import NO_TIME
from sde.wire import Code, Definition, Refusal, Span
from sde.wire.windows import ARRIVAL, SESSION, Window
from synopses import Synopsis, Texts

_LATEST, _OLDEST, _GONE = 4, 5, 6  # places of the counters after those of the kernel
_COUNTERS = 7
_UNSET = NO_TIME
_DROPPED = {
    "late": kernel.LATE_DROPPED,
    "future": kernel.FUTURE_DROPPED,
    "untimed": kernel.UNTIMED,
}


class PanedLayer(Layer):
    """Windows by time: tumbling, sliding and sessions.

    The table maps the hash of stream and pane to a slot. `_counters` has the kernel's four counts
    of late and untimed tuples, then the latest time of a tuple, the oldest pane and the end of what
    was given back.
    """

    window: Window

    def __init__(self, store: Store, name: str, bank: Bank, definition: Definition) -> None:
        self._named = SlotTable(store, f"{name}.named")
        super().__init__(store, name, bank, definition)
        self._sums = PaneSums()
        self.reached: Reached = {}  # by the tuples of this batch

    def _map(self) -> None:
        super()._map()
        self._unpromised: int | None = None  # not counted yet
        used = self.bank.used
        fresh = self._store.array(f"{self.name}.counters", np.int64, (), _COUNTERS)
        if not fresh.any():
            fresh[[_LATEST, _OLDEST, _GONE]] = _UNSET
        self._counters = fresh
        self._pane_of = self._array("panes", used)
        self._stream_of = self._array("streams", used, np.uint64)
        if self.window.type == SESSION:
            self._first, self._last = self._array("first", used), self._array("last", used)

    def remap(self) -> None:
        self._named.remap()
        super().remap()

    def _by_slot(self) -> dict[str, NDArray[Any]]:
        arrays = {**super()._by_slot(), "panes": self._pane_of, "streams": self._stream_of}
        if self.window.type == SESSION:
            arrays |= {"first": self._first, "last": self._last}
        return arrays

    def _other_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._other_arrays(), "counters": self._counters[:_COUNTERS]}

    def _other_tables(self) -> list[SlotTable]:
        return [*super()._other_tables(), self._named]

    @property
    def fields(self) -> set[str]:
        timed = {self.window.time} - {"", ARRIVAL}
        return super().fields | timed

    @property
    def latest(self) -> int | None:
        """The latest time of a tuple that came here."""
        latest = int(self._counters[_LATEST])
        return None if latest == _UNSET else latest

    # -- data -----------------------------------------------------------------------------------

    @property
    def _can_remove(self) -> bool:
        """Where a tuple was added follows from its own time; a session is made of its tuples."""
        window = self.window
        return super()._can_remove and window.type != SESSION and window.time != ARRIVAL

    def _add_block(self, selection: Selection, room: int, watermark: int | None) -> None:
        meant = self.meant(selection)
        if meant is not selection:
            self._pass_time(selection)
        if len(meant.block):
            self._add_meant(meant, room, watermark)
        self._count_met(selection)

    def _add_meant(self, selection: Selection, room: int, watermark: int | None) -> None:
        before = len(self.table)
        cells = self._cells(selection, watermark)
        slots = self._cell_slots(selection, cells, room + before - len(self.table))
        self._add(selection, cells.groups, slots)
        self._shed(cells.groups, slots)
        if self.window.type == SESSION:
            times = selection.times(self.window)
            kernel.extremes(cells.groups.spread(slots), times, self._first, self._last)

    @property
    def sharing(self) -> Sharing | None:
        return super().sharing if self._is_placed_alike else None

    def _pass_time(self, selection: Selection) -> None:
        """Tuples that are not meant are not added, but they tell how late it is."""
        nobody = np.zeros(len(selection.block.streams), np.bool_)
        self._note(selection, selection.place(self.window, None, nobody))

    @property
    def _is_placed_alike(self) -> bool:
        """Whether a tuple's pane follows from the tuple and the window alone."""
        window = self.window
        return self.reach is not Reach.NAMED and window.type != SESSION and not window.count

    def _cells(self, selection: Selection, watermark: int | None) -> Cells:
        """The pairs of stream and pane whose tuples are added."""
        window, is_whole = self.window, self.reach is Reach.WHOLE
        if self._is_placed_alike:
            self._note(selection, selection.placed(window, watermark))
            return selection.placed_cells(window, watermark, is_whole)
        placed = selection.place(window, watermark, self._chosen(selection))
        self._note(selection, placed)
        if window.type == SESSION and watermark is not None:
            self._drop_tuples_of_closed_sessions(selection, watermark, placed.panes)
        return selection.cells(placed.panes, is_whole)

    def _note(self, selection: Selection, placed: Placed) -> None:
        """Count the tuples that are late or have no time, and see how far time is."""
        self._counters[: len(placed.counters)] += placed.counters
        if placed.counters.any():
            for reason, place in _DROPPED.items():
                self.tally[reason] += int(placed.counters[place])
        if placed.latest != _UNSET:
            block, arrival = selection.block, int(selection.arrivals.max())
            self._counters[_LATEST] = max(self._counters[_LATEST], placed.latest)
            news = {f"{block.topic}/{block.partition}": (placed.latest, arrival)}
            self.reached = later(self.reached, news)

    def _drop_tuples_of_closed_sessions(
        self, selection: Selection, watermark: int, panes: NDArray[np.int64]
    ) -> None:
        """A session that has ended for good stays as it was: tuples that would join it are late.

        The last tuple of such a session lies in the cell before the one that is now `closing`, all
        later tuples of it in that cell. Of a whole data set no shard knows alone what has ended.
        """
        window, times = self.window, selection.times(self.window)
        ended = watermark - window.lateness
        closing = ended // window.gap
        rows = np.flatnonzero((panes == closing) & (times < ended))
        if not len(rows) or not len(self.table) or self.reach is Reach.WHOLE:
            return
        which, place = np.unique(selection.block.stream_of[rows], return_inverse=True)
        streams = selection.block.stream_hashes[which]
        before, within = (
            self.table.find(self._keys(streams, np.full(len(which), cell)))
            for cell in (closing - 1, closing)
        )
        end = self._last[before] + window.gap
        goes_on = (within >= 0) & (self._first[within] < end)
        is_closed = (before >= 0) & (end <= ended) & ~goes_on
        late = rows[is_closed[place] & (times[rows] < end[place])]
        panes[late] = kernel.NO_PANE
        self._counters[kernel.LATE_DROPPED] += len(late)
        self.tally["late"] += len(late)
        if (closing + 1) * window.gap <= watermark:  # they were counted as late, but in time
            self._counters[kernel.LATE] -= len(late)

    def _chosen(self, selection: Selection) -> NDArray[np.bool_]:
        """Which streams of a block this layer summarises."""
        hashes = selection.block.stream_hashes
        if self.reach is Reach.NAMED:
            return self._is_named(hashes)
        return np.ones(len(hashes), np.bool_)

    def _is_named(self, streams: NDArray[np.uint64]) -> NDArray[np.bool_]:
        return self._named.find(streams) >= 0

    def _cell_slots(self, selection: Selection, cells: Cells, room: int) -> NDArray[np.int32]:
        """The slot of each cell, -1 for none; panes that begin get one while there is room."""
        hashes = selection.block.stream_hashes
        known = np.array([WHOLE_STREAM]) if self.reach is Reach.WHOLE else hashes
        streams = known[cells.streams]
        keys = self._keys(streams, cells.panes)
        slots = self.table.find(keys)
        missing = np.flatnonzero(slots < 0)
        missing = missing[self._may_begin(streams[missing], cells.panes[missing], room)]
        if len(missing):
            each = self.reach is Reach.EACH
            names = selection.block.streams.take(cells.streams[missing]) if each else None
            slots[missing] = made = self._make(keys[missing], names)
            self._begin(made, streams[missing], cells.panes[missing])
        return slots

    def _may_begin(
        self, streams: NDArray[np.uint64], panes: NDArray[np.int64], room: int
    ) -> NDArray[np.bool_]:
        """Which new panes get a slot: as many as were promised to each stream, and `room` more.

        Where there is no room for all, the newest do: the others are the first to leave anyway.
        """
        if len(panes) <= room:
            return np.ones(len(panes), np.bool_)
        newest = np.argsort(-panes, kind="stable")
        begins = np.zeros(len(panes), np.bool_)
        if self.reach is not Reach.EACH:
            owners = self._stream_of[self.table.entries()[1]]
            rank = ranks(np.concatenate([owners, streams[newest]]))[len(owners) :]
            begins[newest] = rank < self.window.panes
        begins[newest[~begins[newest]][: max(room, 0)]] = True
        return begins

    @property
    def unpromised(self) -> int:
        """Of streams that panes were promised to at creation, those beyond the promise."""
        if self.reach is Reach.EACH or len(self.table) <= self.window.panes:
            return super().unpromised
        if self._unpromised is None:
            owners = self._stream_of[self.table.entries()[1]]
            panes = np.unique(owners, return_counts=True)[1]
            self._unpromised = int(np.maximum(panes - self.window.panes, 0).sum())
        return self._unpromised

    def _begin(
        self, slots: NDArray[np.int32], streams: NDArray[np.uint64], panes: NDArray[np.int64]
    ) -> None:
        """New slots are the panes of these streams."""
        self._unpromised = None
        self._pane_of[slots], self._stream_of[slots] = panes, streams
        if self.window.type == SESSION:
            self._first[slots], self._last[slots] = np.iinfo(np.int64).max, _UNSET
        oldest = int(self._counters[_OLDEST])
        lowest = int(panes.min())
        self._counters[_OLDEST] = lowest if oldest == _UNSET else min(oldest, lowest)

    def _free(self, hashes: NDArray[np.uint64], slots: NDArray[np.int32]) -> None:
        self._unpromised = None
        super()._free(hashes, slots)

    def begin_stream(self, stream: np.uint64) -> None:
        self._named.insert(np.array([stream]), np.zeros(1, np.int32))

    def drop_stream(self, stream: np.uint64) -> None:
        self._named.remove(np.array([stream]))
        hashes, slots = self.table.entries()
        own = self._stream_of[slots] == stream
        self._free(hashes[own], slots[own])

    def clear(self) -> None:
        super().clear()
        self._counters[_OLDEST] = _UNSET

    def _owners(self, hashes: NDArray[np.uint64], slots: NDArray[np.int32]) -> NDArray[np.uint64]:
        return self._stream_of[slots]

    def expire(self, watermark: int) -> None:
        """Give back the panes that no question can be about any more."""
        window = self.window
        limit = horizon(window, watermark)
        oldest = int(self._counters[_OLDEST])
        if oldest == _UNSET or (oldest + 1) * window.pane > limit:
            return
        self._counters[_GONE] = limit // window.pane * window.pane
        hashes, slots = self.table.entries()
        if window.type == SESSION:
            self._fold(slots, watermark)
            hashes, slots = self.table.entries()
            gone = self._last[slots] + window.gap <= limit
        else:
            gone = (self._pane_of[slots] + 1) * window.pane <= limit
        self._free(hashes[gone], slots[gone])
        left = self._pane_of[slots[~gone]]
        self._counters[_OLDEST] = left.min() if len(left) else _UNSET

    def _fold(self, slots: NDArray[np.int32], watermark: int) -> None:
        """Cells of one session that no tuple can change any more become one cell, the last.

        So a session that never ends takes a few slots, not ever more.
        """
        final = (self._pane_of[slots] + 1) * self.window.pane + self.window.lateness <= watermark
        slots = slots[final]
        order = np.lexsort((self._pane_of[slots], self._stream_of[slots]))
        for older, newer in zip(slots[order][:-1].tolist(), slots[order][1:].tolist(), strict=True):
            close = self._first[newer] - self._last[older] < self.window.gap
            if self._stream_of[older] != self._stream_of[newer] or not close:
                continue
            self.bank.absorb(
                newer,
                self.bank.at(older).copy(),
                int(self.bank.tuples[older]),
                int(self.bank.skipped[older]),
            )
            self._first[newer] = self._first[older]
            stream, pane = self._stream_of[older], self._pane_of[older : older + 1]
            self._free(self._keys(stream, pane), np.array([older], np.int32))

    # -- questions ------------------------------------------------------------------------------

    def _keys(
        self, streams: NDArray[np.uint64] | np.uint64, panes: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        """The keys of panes in the table."""
        keys = np.empty(len(panes), np.uint64)
        kernel.keys(np.broadcast_to(streams, panes.shape), panes, keys)
        return keys

    def slots(self, stream: np.uint64 | None) -> NDArray[np.int32]:
        slots = self.table.entries()[1]
        return slots if stream is None else slots[self._stream_of[slots] == stream]

    def ask(
        self, stream: np.uint64, span: Span | None, at: int | None, *, is_one_of_all: bool = False
    ) -> Held:
        """What a question is about: a span, or the window that is open at the moment `at`.

        `is_one_of_all`: all streams are asked. They would push out of the cache what watches use.
        """
        window = self.window
        at = self.now_for(stream) if at is None else at
        interval = asked(window, span) if span else open_window(window, at or 0)
        require_kept(window, interval, self._gone_for(stream))
        return self._merged(stream, interval, not is_one_of_all)

    def _gone_for(self, stream: np.uint64) -> int | None:
        """What was before this is not kept any more; None: nothing was given back yet."""
        gone = int(self._counters[_GONE])
        return None if gone == _UNSET else gone

    def now_for(self, stream: np.uint64) -> int | None:
        """The latest moment this layer knows of."""
        return self.latest

    def _merged(self, stream: np.uint64, interval: Interval, cached: bool) -> Held:
        """The panes of a stream in an interval, as one synopsis."""
        first, last = interval[0] // self.window.pane, interval[1] // self.window.pane
        if last - first > len(self.table) + 1:  # a long span over few panes
            panes = self._pane_of[self.slots(stream)]
            panes = panes[(panes >= first) & (panes < last)]
            first, last = (int(panes.min()), int(panes.max()) + 1) if len(panes) else (first, first)
        slots = self.table.find(self._keys(stream, np.arange(first, last)))
        filled = slots[slots >= 0]
        if cached:
            merged = self._sums.merged(self.bank, (self.name, int(stream)), first, slots)
        else:
            parts = [self.bank.at(slot) for slot in filled.tolist()]
            merged = merge_all(parts) if len(parts) > 1 else next(iter(parts), None)
        return self._held(merged, filled, interval)

    def closing(self, stream: np.uint64, before: int | None, watermark: int) -> list[Interval]:
        """The windows of a stream that close when the watermark moves."""
        window = self.window
        panes = self._pane_of[self.slots(stream)].tolist()
        ends = closing(window, panes, before, watermark)
        return [(end - window.size, end) for end in ends]

    # -- sessions -------------------------------------------------------------------------------

    def cells(self, slots: NDArray[np.int32]) -> list[Cell[int]]:
        """What the slots of a stream keep of its sessions; each cell holds its slot."""
        fields = (self._pane_of, self._first, self._last)
        rows = zip(*(a[slots].tolist() for a in fields), slots.tolist(), strict=True)
        return [Cell(*row) for row in rows]

    def session(self, slots: NDArray[np.int32], span: Span | None) -> Held | None:
        """The latest session of a stream, or one by its end; None if there is none."""
        found = choose_session(sessions(self.cells(slots), self.window.gap), span, self.window.gap)
        if found is None:
            return None
        whole = merge_all([self.bank.at(cell.holds) for cell in found.cells])
        slots = np.array([cell.holds for cell in found.cells], np.int32)
        return self._held(whole, slots, (found.first, found.end(self.window.gap)))

    def closing_sessions(
        self, stream: np.uint64, before: int | None, watermark: int
    ) -> list[Interval]:
        """The sessions of a stream that end for good when the watermark moves on from `before`."""
        gap, lateness = self.window.gap, self.window.lateness
        closed = []
        for session in sessions(self.cells(self.slots(stream)), gap):
            end = session.end(gap) + lateness
            if end <= watermark and (before is None or end > before):
                closed.append((session.first, session.end(gap)))
        return closed

    def left_out(self, skipped: int) -> LeftOut:
        _, late, future, untimed = self._counters[:4].tolist()
        left_out = super().left_out(skipped)
        return structs.replace(left_out, shed=self.shed, late=late, future=future, untimed=untimed)

    def figures(self, stream: np.uint64 | None) -> dict[str, int]:
        figures = super().figures(stream)
        slots = self.slots(stream)
        streams = len(np.unique(self._stream_of[slots]))
        late, late_dropped, future_dropped, untimed = self._counters[:4].tolist()
        return {
            **figures,
            "streams": streams if self.reach is Reach.EACH else 0,
            "panes": len(slots),
            "late": late,
            "late_dropped": late_dropped,
            "future_dropped": future_dropped,
            "untimed": untimed,
        }

    @property
    def _slot_bytes(self) -> int:
        return super()._slot_bytes + (32 if self.window.type == SESSION else 16)

    @property
    def _index_bytes(self) -> int:
        return super()._index_bytes + self._named.bytes_held

    # -- exchange -------------------------------------------------------------------------------

    def kept(self, stream: np.uint64 | None) -> Iterator[Kept]:
        is_session = self.window.type == SESSION
        for slot in self.slots(stream).tolist():
            times = (int(self._first[slot]), int(self._last[slot])) if is_session else (0, 0)
            yield replace(self._kept(slot), pane=(int(self._pane_of[slot]), *times))

    def put(self, stream: np.uint64, kept: Kept, synopsis: Synopsis) -> None:
        assert kept.pane is not None
        pane, first, last = kept.pane
        panes = np.array([pane])
        key = self._keys(stream, panes)
        slots = self.table.find(key)
        if slots[0] < 0:
            names = Texts.of([kept.stream]) if kept.stream is not None else None
            slots = self._make(key, names)
            self._begin(slots, np.array([stream]), panes)
        slot = int(slots[0])
        self.bank.absorb(slot, synopsis, kept.tuples, kept.skipped)
        if self.window.type == SESSION:
            self._first[slot] = min(self._first[slot], first)
            self._last[slot] = max(self._last[slot], last)
        self._reach(stream, kept, last if self.window.type == SESSION else pane * self.window.pane)

    def _reach(self, stream: np.uint64, kept: Kept, time: int) -> None:
        """Time is at least as far as what was put in; in all of a pane the same window is open."""
        self._counters[_LATEST] = max(self._counters[_LATEST], time)


def ranks(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How many equal values stand before each one.

    >>> ranks(np.array([7, 9, 7, 7], np.uint64)).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(values, kind="stable")
    starts = np.unique(values[order], return_index=True)[1]
    lengths = np.diff(np.append(starts, len(values)))
    found = np.empty(len(values), np.int64)
    found[order] = np.arange(len(values)) - np.repeat(starts, lengths)
    return found


def choose_session(found: list[Session[int]], span: Span | None, gap: int) -> Session[int] | None:
    """The session that a question is about: the last, or the one that ends with the span."""
    if span is None:
        return found[-1] if found else None
    if span.start is not None:
        raise Refusal(
            Code.BAD_QUERY, "from, to: sessions are asked for by their `end`, or the latest", "from"
        )
    return next((s for s in found if s.end(gap) == span.end), None)
