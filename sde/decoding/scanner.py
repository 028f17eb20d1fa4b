"""Rows go through the scanner, which gets more room whenever it asks for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sde.decoding.entries import Entries
from sde.decoding.limits import Limits
from sde.decoding.path_tree import RecordTree, TupleTree
from sde.decoding.plain import EARLIEST, LATEST
from sde.decoding.pool import TextPool
from sde.decoding.rows import Rows
from sde.kernels import json_scan
from sde.kernels.json_numbers import DECIMAL, LONG_DECIMAL
from sde.kernels.json_scan import DONE, NO_ENTRIES, NO_PARTS
from sde.kernels.json_shapes import MOST_VALUES, room_for_shapes
from sde.tuples.decimals import long_decimals

MOST_CELLS = 16_000_000  # of a segment: its rows times its fields
_TIME_RANGE = np.array([EARLIEST, LATEST])


class Scanner:
    """What was found of each row stands in its arrays, see `sde.kernels.json_scan.scan`.

    taken        whether it was read
    row_entries  the first of its entries, and the one after the last
    spans        start and end of the names of data set and stream, if it is a tuple
    times        the time of the tuple; where it has none, what stood there before
    row_parts    the first of its parts and the one after the last, if records have parts
    parts        first and last of the entries of each part
    """

    def __init__(
        self, pool: TextPool, rows: Rows, limits: Limits, times: NDArray[np.int64] | None = None
    ) -> None:
        """`times` are those of messages, if rows are tuples."""
        self._pool, self._rows, self._limits = pool, rows, limits
        self._is_tuple = times is not None
        self.times = np.empty(0, np.int64) if times is None else times
        self.spans = np.empty((4, len(self.times)), np.int64)
        self.taken = np.empty(len(rows), np.bool_)
        self.row_entries = np.empty((len(rows), 2), np.int64)
        self.row_parts = np.empty((0, 2), np.int64)
        self.parts = np.empty((0, 2), np.int64)
        self.entries = Entries(4 * len(rows) + MOST_VALUES)
        self._used_parts = 0
        self._shapes, self._notes = room_for_shapes(), json_scan.room_for_notes()

    def scan(self, tree: TupleTree | RecordTree, first: int, end: int) -> tuple[int, int]:
        """Scan the rows from `first` on: the first not scanned, and how many entries there are."""
        limits, pool, rows = self._limits, self._pool, self._rows
        how = (
            limits.max_name, limits.max_fields, tree.unwanted, self._is_tuple, tree.is_open,
            tree.each,
        )  # fmt: skip
        longest = limits.max_tuple_bytes if tree.each < 0 else limits.max_message_bytes
        if tree.each >= 0 and not len(self.row_parts):
            self.row_parts = np.empty((len(rows), 2), np.int64)
        row, used, part = first, 0, 0
        while True:
            e = self.entries
            why, row, used, text_end, part = json_scan.scan(
                pool.array, rows.starts, rows.ends, first, row, end, used, pool.end, part,
                MOST_CELLS, longest, how, _TIME_RANGE, tree.arrays,
                (e.fields, e.types, e.words, e.floats), self.taken, self.row_entries,
                self.row_parts, (self.spans, self.times), self.parts, self._shapes, self._notes,
            )  # fmt: skip
            pool.extend(text_end)
            if why == DONE:
                self._used_parts = part
                self._read_long_decimals(used)
                return row, used
            if why == NO_ENTRIES:
                e.grow(used, 2 * len(e))
            elif why == NO_PARTS:
                self._grow_parts(part, 2 * len(self.parts) + len(rows))
            else:
                self._make_text_room(row, end)

    def put(self, row: int, parts: list[tuple[int, int]]) -> None:
        """A record that was read elsewhere, into entries behind those used.

        Each part is one row of it, with all its values.
        """
        self.taken[row] = True
        self.row_entries[row] = parts[0][0] if parts else 0, parts[-1][1] if parts else 0
        if len(self.row_parts):
            end = self._used_parts + len(parts)
            if end > len(self.parts):
                self._grow_parts(self._used_parts, 2 * end)
            self.parts[self._used_parts : end] = np.array(parts, np.int64).reshape(-1, 2)
            self.row_parts[row] = self._used_parts, end
            self._used_parts = end

    def _grow_parts(self, used: int, room: int) -> None:
        larger = np.empty((room, 2), np.int64)
        larger[:used] = self.parts[:used]
        self.parts = larger

    def _make_text_room(self, row: int, end: int) -> None:
        """For this row at least, and for a part of those that follow: growing copies the pool."""
        sizes = self._rows.ends[row:end] - self._rows.starts[row:end]
        self._pool.reserve(int(max(sizes[0], sizes.sum() // 4)) + json_scan.TEXT_SLACK)

    def _read_long_decimals(self, used: int) -> None:
        """What the scanner found and did not compute."""
        e = self.entries
        long = np.flatnonzero(e.types[:used] == LONG_DECIMAL)
        if len(long):
            starts, ends = e.words[long].T.copy()
            e.floats[long, 0] = long_decimals(self._pool.array, starts, ends)
            e.types[long] = DECIMAL
