"""Rows of text become segments: runs of tuples whose values stand ready to become columns.

The scanner reads what it can; the rows it leaves are read one by one. A segment ends where its
columns would become too many or too large: then its blocks are made and another one begins, so
that no set of names, however strange, takes more memory than a fixed multiple of its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sde.decoding.entries import Entries, PlainEntries, RowValues
from sde.decoding.field_names import FieldNames
from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.plain import EARLIEST, LATEST, read_tuple
from sde.decoding.pool import TextPool
from sde.decoding.rows import Rows
from sde.kernels import json_scan
from sde.tuples.decimals import long_decimals
from sde.tuples.needs import NeedsByDataset
from sde.wire.faults import Refusal

_MOST_CELLS = 16_000_000
_OFFSET_ROOM = 1 << 32  # a block counts offsets from its first in 32 bits
_TIME_RANGE = np.array([EARLIEST, LATEST])
_NO_NAME = 1 << 40  # a number that no name has


@dataclass(frozen=True, slots=True)
class Segment:
    """Tuples, in order. The row of tuple i is rows[i]; spans[:, i] are start and end of its data
    set and of its stream."""

    rows: NDArray[np.int64]
    spans: NDArray[np.int64]
    times: NDArray[np.int64]
    values: RowValues


class Segments:
    """Iterate over it for the segments of some rows; rows that are refused go to `letters`.

    The scanner fills the arrays for all rows it can; `_read_plainly` adds the others.
    """

    def __init__(
        self,
        pool: TextPool,
        rows: Rows,
        messages: Messages,
        limits: Limits,
        letters: Letters,
        wanted: NeedsByDataset | None,
    ) -> None:
        self._wanted = None if wanted is None else sorted(wanted.fields)
        self._pool, self._rows, self._limits, self._letters = pool, rows, limits, letters
        self._timestamps = messages.timestamps[rows.messages]
        self._offsets = messages.offsets[rows.messages]
        self._times = self._timestamps.copy()
        self._spans = np.empty((4, len(rows)), np.int64)
        self._taken = np.empty(len(rows), np.bool_)
        self._row_entries = np.empty((len(rows), 2), np.int64)
        self._entries = Entries(4 * len(rows) + 4 * limits.max_fields)
        self._shape = json_scan.room_for_shape()

    def __iter__(self) -> Iterator[Segment]:
        """A segment is to be used up before the next one is asked for: they share arrays.

        It ends early where offsets go too far apart for a block, or names become too many.
        """
        first, most = 0, len(self._rows)
        while first < len(self._rows):
            near = np.searchsorted(self._offsets, self._offsets[first] + _OFFSET_ROOM)
            end = min(first + most, max(int(near), first + 1))
            stop, segment = self._segment(first, end)
            # If strange rows cut a segment short, do not scan far ahead in vain again.
            most = 2 * (stop - first)
            first = stop
            if len(segment.rows):
                yield segment

    def _segment(self, first: int, end: int) -> tuple[int, Segment]:
        """The segment that begins at row `first`, and the row after it."""
        names = FieldNames(self._limits.max_fields, self._limits.max_name, self._wanted or ())
        stop, used = self._scan(names, first, end)
        long = np.flatnonzero(self._entries.types[:used] == json_scan.LONG_DECIMAL)
        if len(long):
            starts, ends = self._entries.words[long].T.copy()
            self._entries.floats[long, 0] = long_decimals(self._pool.array, starts, ends)
            self._entries.types[long] = json_scan.DECIMAL
        numbers = names.numbers()
        left = np.flatnonzero(~self._taken[first:stop]) + first
        if len(left):
            stop, used = self._read_plainly(left, numbers, first, stop, used)
        return stop, self._chosen(first, stop, used, list(numbers))

    def _chosen(self, first: int, stop: int, used: int, names: list[str]) -> Segment:
        """The rows of a segment that were taken: not those refused."""
        chosen: slice | NDArray[np.int64] = slice(first, stop)
        rows = np.arange(first, stop)
        if not self._taken[first:stop].all():
            chosen = rows = rows[self._taken[first:stop]]
        return Segment(
            rows=rows,
            spans=self._spans[:, chosen],
            times=self._times[chosen],
            values=RowValues(self._row_entries[chosen], self._entries, used, names),
        )

    def _scan(self, names: FieldNames, first: int, end: int) -> tuple[int, int]:
        """The first row not scanned, and how many entries there are."""
        row, used = first, 0
        while True:
            e = self._entries
            is_full, row, used = json_scan.scan(
                self._pool.array, self._rows.starts, self._rows.ends, first, row, end, used,
                _MOST_CELLS, self._limits.max_tuple_bytes, self._limits.max_name,
                self._limits.max_fields, self._unwanted, _TIME_RANGE,
                names.bytes, names.offsets, names.counts, names.table, names.follows, names.seen,
                e.fields, e.types, e.words, e.floats,
                self._row_entries, self._taken, self._spans, self._times, self._shape,
            )  # fmt: skip
            if not is_full:
                return row, used
            e.grow(used, 2 * len(e))

    @property
    def _unwanted(self) -> int:
        """Names with this number and above are of fields that nobody reads."""
        if self._wanted is None:
            return _NO_NAME
        return json_scan.RESERVED + len(self._wanted)

    def _read_plainly(
        self, left: NDArray[np.int64], numbers: dict[str, int], first: int, stop: int, used: int
    ) -> tuple[int, int]:
        """Read the rows `left` by the scanner; names are added to `numbers`.

        The row after the segment and the number of entries: names may cut the segment short.
        """
        rows, most = self._rows, self._limits.max_fields
        plain = PlainEntries(self._pool.end)
        view = self._pool.array.data
        read: list[tuple[int, ...]] = []  # row, spans, time, entries
        places = zip(
            left.tolist(), rows.starts[left].tolist(), rows.ends[left].tolist(), strict=True
        )
        for row, start, end in places:
            fields = len(numbers) - json_scan.RESERVED
            if row > first and (fields > most or (row - first) * (fields + 1) > _MOST_CELLS):
                stop = row
                break
            payload = bytes(view[start:end])
            try:
                found = read_tuple(payload, self._limits)
            except Refusal as refusal:
                message, line = int(rows.messages[row]), int(rows.lines[row])
                self._letters.refuse(message, line, refusal.fault, payload)
                continue
            time = int(self._timestamps[row]) if found.time is None else found.time
            spans = (*plain.text_span(found.dataset), *plain.text_span(found.stream))
            before = len(plain)
            for name, value in found.values.items():
                number = numbers.setdefault(name, len(numbers))
                if value is not None and number < self._unwanted:
                    plain.add(number, value)
            read.append((row, *spans, time, used + before, used + len(plain)))
        if read:
            columns = np.array(read, np.int64).T
            self._taken[columns[0]] = True
            self._spans[:, columns[0]] = columns[1:5]
            self._times[columns[0]] = columns[5]
            self._row_entries[columns[0]] = columns[6:].T
        self._pool.append(plain.text())
        plain.put(self._entries, used)
        return stop, used + len(plain)
