"""Layers of windowed synopses: a slot for each stream and pane.

A pane is a slot like any other, so adding costs what it costs without a window; nothing is done
when a pane closes. Panes are merged when somebody asks, and given back when no window that may be
asked for holds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sde.bank import Bank
from sde.kernels import panes as kernel
from sde.layer import WHOLE_STREAM, Kept, Layer, Now, Reach
from sde.messages import Code, Definition, Refusal, Span
from sde.messages.windows import ARRIVAL, SESSION, Window
from sde.selection import Selection
from sde.slot_table import SlotTable
from sde.store import Store
from sde.times import NO_TIME
from sde.windows.sessions import Cell, Session, sessions
from sde.windows.spans import Interval, asked, closing, horizon, open_window, require_kept
from sde.windows.sums import PaneSums
from synopses import Synopsis, Texts

_LATEST, _OLDEST, _GONE = 4, 5, 6  # places of the counters after those of the kernel
_UNSET = NO_TIME


class Part(NamedTuple):
    """What a layer has of an interval."""

    synopsis: Synopsis | None
    tuples: int
    interval: Interval


class Placed(NamedTuple):
    """Where the tuples of a block belong."""

    keys: NDArray[np.uint64]
    panes: NDArray[np.int64]
    open: NDArray[np.bool_]


class PanedLayer(Layer):
    """Windows by time: tumbling, sliding and sessions."""

    window: Window

    def __init__(self, store: Store, name: str, bank: Bank, definition: Definition) -> None:
        self._named = SlotTable(store, f"{name}.named")
        super().__init__(store, name, bank, definition)
        self._sums = PaneSums()

    def _map(self) -> None:
        super()._map()
        used = self.bank.used
        fresh = self._store.array(f"{self.name}.counters", np.int64, (), 7)
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

    def add(self, selection: Selection, room: int, now: Now) -> None:
        placed = self._place(selection, now)
        slots = self._pane_slots(selection, placed, room)
        self._add(selection, slots)
        if self.window.type == SESSION:
            kernel.extremes(slots, selection.times(self.window), self._first, self._last)
        self._shed[0] += np.count_nonzero(placed.open & (slots < 0))

    def _place(self, selection: Selection, now: Now) -> Placed:
        block, window = selection.block, self.window
        n = len(block)
        placed = Placed(np.empty(n, np.uint64), np.empty(n, np.int64), np.empty(n, np.bool_))
        latest = kernel.place(
            selection.times(window),
            selection.arrivals,
            self._hashes(selection),
            block.stream_of,
            self._chosen(selection),
            window.pane,
            window.lateness,
            -1 if window.time == ARRIVAL else window.skew,
            _UNSET if now.watermark is None else now.watermark,
            *placed,
            self._counters,
        )
        self._counters[_LATEST] = max(self._counters[_LATEST], latest)
        return placed

    def _hashes(self, selection: Selection) -> NDArray[np.uint64]:
        hashes = selection.block.stream_hashes
        return np.full(len(hashes), WHOLE_STREAM) if self.reach is Reach.WHOLE else hashes

    def _chosen(self, selection: Selection) -> NDArray[np.bool_]:
        hashes = selection.block.stream_hashes
        if self.reach is Reach.NAMED:
            return self._named.find(hashes) >= 0
        return np.ones(len(hashes), np.bool_)

    def _pane_slots(self, selection: Selection, placed: Placed, room: int) -> NDArray[np.int32]:
        slots = self.table.find(placed.keys)
        slots[~placed.open] = -1
        missing = np.flatnonzero(placed.open & (slots < 0))
        if len(missing) and room > 0:
            where = np.unique(placed.keys[missing], return_index=True)[1]
            rows = missing[np.sort(where)[:room]]  # in the order they came
            self._make_panes(selection, placed, rows)
            slots[missing] = self.table.find(placed.keys[missing])
        return slots

    def _make_panes(self, selection: Selection, placed: Placed, rows: NDArray[np.int64]) -> None:
        block = selection.block
        which = block.stream_of[rows]
        names = block.streams.take(which.astype(np.int64)) if self.reach is Reach.EACH else None
        slots = self._make(placed.keys[rows], names)
        self._begin(slots, self._hashes(selection)[which], placed.panes[rows])

    def _begin(
        self, slots: NDArray[np.int32], streams: NDArray[np.uint64], panes: NDArray[np.int64]
    ) -> None:
        self._pane_of[slots], self._stream_of[slots] = panes, streams
        if self.window.type == SESSION:
            self._first[slots], self._last[slots] = np.iinfo(np.int64).max, _UNSET
        oldest = int(self._counters[_OLDEST])
        lowest = int(panes.min())
        self._counters[_OLDEST] = lowest if oldest == _UNSET else min(oldest, lowest)

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

    def _keys(self, stream: np.uint64, panes: NDArray[np.int64]) -> NDArray[np.uint64]:
        keys = np.empty(len(panes), np.uint64)
        kernel.keys(stream, panes, keys)
        return keys

    def slots(self, stream: np.uint64 | None) -> NDArray[np.int32]:
        slots = self.table.entries()[1]
        return slots if stream is None else slots[self._stream_of[slots] == stream]

    def ask(self, stream: np.uint64, span: Span | None, at: int | None) -> Part:
        """What a question is about: a span, or the window that is open at the moment `at`."""
        window = self.window
        at = self.now_for(stream) if at is None else at
        interval = asked(window, span) if span else open_window(window, at or 0)
        gone = int(self._counters[_GONE])
        require_kept(interval, None if gone == _UNSET else gone)
        return self._merged(stream, interval)

    def now_for(self, stream: np.uint64) -> int | None:
        """The latest moment this layer knows of."""
        return self.latest

    def _merged(self, stream: np.uint64, interval: Interval) -> Part:
        first, last = interval[0] // self.window.pane, interval[1] // self.window.pane
        if last - first > len(self.table) + 1:  # a long span over few panes
            held = self._pane_of[self.slots(stream)]
            held = held[(held >= first) & (held < last)]
            first, last = (int(held.min()), int(held.max()) + 1) if len(held) else (first, first)
        slots = self.table.find(self._keys(stream, np.arange(first, last)))
        merged = self._sums.merged(self.bank, (self.name, int(stream)), first, slots)
        return Part(merged, int(self.bank.tuples[slots[slots >= 0]].sum()), interval)

    def closing(self, stream: np.uint64, before: int | None, watermark: int) -> list[Interval]:
        """The windows of a stream that close when the watermark moves."""
        window = self.window
        panes = self._pane_of[self.slots(stream)].tolist()
        ends = closing(window, panes, before, watermark)
        return [(end - window.size, end) for end in ends]

    # -- sessions -------------------------------------------------------------------------------

    def cells(self, stream: np.uint64) -> list[Cell[int]]:
        """What is kept of a stream's sessions; each cell holds its slot."""
        slots = self.slots(stream)
        fields = (self._pane_of, self._first, self._last)
        rows = zip(*(a[slots].tolist() for a in fields), slots.tolist(), strict=True)
        return [Cell(*row) for row in rows]

    def session(self, stream: np.uint64, span: Span | None) -> Part | None:
        """The latest session, or one by its end; None if there is none."""
        found = choose_session(sessions(self.cells(stream), self.window.gap), span, self.window.gap)
        if found is None:
            return None
        parts = [self.bank.at(cell.holds) for cell in found.cells]
        whole = parts[0].copy()
        for part in parts[1:]:
            whole.merge(part)
        tuples = int(self.bank.tuples[[cell.holds for cell in found.cells]].sum())
        return Part(whole, tuples, (found.first, found.end(self.window.gap)))

    def closing_sessions(
        self, stream: np.uint64, before: int | None, watermark: int
    ) -> list[Interval]:
        gap, lateness = self.window.gap, self.window.lateness
        closed = []
        for session in sessions(self.cells(stream), gap):
            end = session.end(gap) + lateness
            if end <= watermark and (before is None or end > before):
                closed.append((session.first, session.end(gap)))
        return closed

    def figures(self, stream: np.uint64 | None) -> dict[str, int]:
        told = super().figures(stream)
        slots = self.slots(stream)
        streams = len(np.unique(self._stream_of[slots]))
        late, late_dropped, future_dropped, untimed = self._counters[:4].tolist()
        return {
            **told,
            "streams": streams if self.reach is Reach.EACH else 0,
            "panes": len(slots),
            "late": late,
            "late_dropped": late_dropped,
            "future_dropped": future_dropped,
            "untimed": untimed,
        }

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


def choose_session(found: list[Session[int]], span: Span | None, gap: int) -> Session[int] | None:
    if span is None:
        return found[-1] if found else None
    if span.start is not None:
        raise Refusal(
            Code.BAD_QUERY, "from, to: sessions are asked for by their `end`, or the latest", "from"
        )
    return next((s for s in found if s.end(gap) == span.end), None)
