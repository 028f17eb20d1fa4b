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

from sde.decoding.entries import PlainEntries, RowValues
from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.path_tree import TupleTree
from sde.decoding.plain import read_tuple
from sde.decoding.pool import TextPool
from sde.decoding.rows import Rows, cut_again, cut_rows
from sde.decoding.scanner import MOST_CELLS, Scanner
from sde.kernels.json_scan import RESERVED
from sde.tuples.block import OFFSET_ROOM
from sde.tuples.needs import NeedsByDataset
from sde.wire.faults import Refusal

_MOST_ROWS = 1 << 62


@dataclass(frozen=True, slots=True)
class Segment:
    """Tuples, in order. Tuple i is from line lines[i] of message message_of[i]; spans[:, i] are
    start and end of its data set and of its stream."""

    message_of: NDArray[np.int64]
    lines: NDArray[np.int64]
    spans: NDArray[np.int64]
    times: NDArray[np.int64]
    values: RowValues

    def __len__(self) -> int:
        return len(self.lines)


class Segments:
    """Iterate over it for the segments of some rows; rows that are refused go to `letters`.

    The scanner fills its arrays for all rows it can; `_read_plainly` adds the others.
    """

    def __init__(
        self,
        pool: TextPool,
        messages: Messages,
        which: NDArray[np.int64],
        limits: Limits,
        letters: Letters,
        wanted: NeedsByDataset | None,
    ) -> None:
        """The messages `which` are text."""
        self._wanted = None if wanted is None else sorted(wanted.fields)
        self._pool, self._messages, self._limits, self._letters = pool, messages, limits, letters
        self._use(cut_rows(pool.array, messages, which, limits))

    def _use(self, rows: Rows) -> None:
        self._rows = rows
        self._timestamps = self._messages.timestamps[rows.messages]
        self._offsets = self._messages.offsets[rows.messages]
        self._scanner = Scanner(self._pool, rows, self._limits, self._timestamps.copy())

    def __iter__(self) -> Iterator[Segment]:
        """A segment is to be used up before the next one is asked for: they share arrays.

        It ends early where offsets go too far apart for a block, or names become too many.
        """
        first, most = 0, _MOST_ROWS
        while first < len(self._rows):
            stop, segment = self._segment(first, most)
            # If strange rows cut a segment short, do not scan far ahead in vain again.
            most = 2 * (stop - first)
            first = stop
            if len(segment):
                yield segment

    def _segment(self, first: int, most: int) -> tuple[int, Segment]:
        """The segment of at most so many rows that begins at row `first`, and the row after it."""
        near = np.searchsorted(self._offsets, self._offsets[first] + OFFSET_ROOM)
        end = min(first + most, max(int(near), first + 1))
        tree = TupleTree(self._wanted, self._limits)
        stop, used = self._scanner.scan(tree, first, end)
        names = tree.paths()
        left = np.flatnonzero(~self._scanner.taken[first:stop]) + first
        if self._rows.is_unsure[left].any():
            # What the scanner took is one object; of the others, and of all that follow, it is
            # found out now: there may be very many, and rows are not cut more than twice.
            unsure = np.concatenate((left, np.arange(stop, len(self._rows))))
            unsure = unsure[self._rows.is_unsure[unsure]]
            self._use(cut_again(self._pool.array, self._messages, self._rows, unsure))
            return self._segment(first, most)
        if len(left):
            stop, used = self._read_plainly(left, names, tree.is_open, first, stop, used)
        return stop, self._chosen(first, stop, used, names)

    def _chosen(self, first: int, stop: int, used: int, names: list[str]) -> Segment:
        """The rows of a segment that were taken: not those refused."""
        found = self._scanner
        chosen: slice | NDArray[np.int64] = slice(first, stop)
        rows = np.arange(first, stop)
        if not found.taken[first:stop].all():
            chosen = rows = rows[found.taken[first:stop]]
        return Segment(
            message_of=self._rows.messages[rows],
            lines=self._rows.lines[rows],
            spans=found.spans[:, chosen],
            times=found.times[chosen],
            values=RowValues(found.row_entries[chosen], found.entries, used, names),
        )

    def _read_plainly(
        self,
        left: NDArray[np.int64],
        names: list[str],
        is_open: bool,
        first: int,
        stop: int,
        used: int,
    ) -> tuple[int, int]:
        """Read the rows `left` by the scanner; where all fields are read, `names` gets theirs.

        The row after the segment and the number of entries: names may cut the segment short.
        """
        rows, most, found = self._rows, self._limits.max_fields, self._scanner
        numbers = {name: number for number, name in enumerate(names) if number}
        plain = PlainEntries(self._pool.end)
        view = self._pool.array.data
        read: list[tuple[int, ...]] = []  # row, spans, time, entries
        places = zip(
            left.tolist(), rows.starts[left].tolist(), rows.ends[left].tolist(), strict=True
        )
        for row, start, end in places:
            fields = len(numbers) + 1 - RESERVED
            is_full = is_open and fields > most
            if row > first and (is_full or (row - first) * (fields + 1) > MOST_CELLS):
                stop = row
                break
            payload = bytes(view[start:end])
            try:
                one = read_tuple(payload, self._limits)
            except Refusal as refusal:
                message, line = int(rows.messages[row]), int(rows.lines[row])
                self._letters.refuse(message, line, refusal.fault, payload)
                continue
            time = int(self._timestamps[row]) if one.time is None else one.time
            spans = (*plain.text_span(one.dataset), *plain.text_span(one.stream))
            before = len(plain)
            for name, value in one.values.items():
                if is_open:
                    numbers.setdefault(name, len(numbers) + 1)
                if value is not None and name in numbers:
                    plain.add(numbers[name], value)
            read.append((row, *spans, time, used + before, used + len(plain)))
        if read:
            columns = np.array(read, np.int64).T
            found.taken[columns[0]] = True
            found.spans[:, columns[0]] = columns[1:5]
            found.times[columns[0]] = columns[5]
            found.row_entries[columns[0]] = columns[6:].T
        names += list(numbers)[len(names) - 1 :]
        self._pool.append(plain.text())
        plain.put(found.entries, used)
        return stop, used + len(plain)
