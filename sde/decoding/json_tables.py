"""JSON of any shape becomes tables: a column for each path that is read.

messages ── records: whole, lines, or elements of an array ── rows: one, or one for each ──> tables
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sde.decoding.columns import Groups, build_columns
from sde.decoding.entries import PlainEntries, RowValues
from sde.decoding.json_records import Wanted, read_record
from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.path_tree import RecordTree
from sde.decoding.pool import TextPool
from sde.decoding.rows import Numbering, Rows, cut_records
from sde.decoding.scanner import MOST_CELLS, Scanner
from sde.decoding.table import Table
from sde.kernels import parts as kernel
from sde.wire.faults import Refusal


def read_json(
    messages: Messages,
    which: NDArray[np.int64],
    paths: frozenset[str] | None,
    limits: Limits,
    letters: Letters,
    *,
    each: str | None = None,
    lines: bool = False,
) -> Iterator[Table]:
    """The records of the messages `which` as tables, in order.

    A message is one record, or with `lines` one a line; an array instead of a record is as many
    records as it has elements. `paths` are read (None: every scalar, of arrays the first 16
    elements); what else a record holds need only be JSON. With `each`, the path of an array,
    every element becomes a row of its own: see `sde.decoding.json_records.read_record`.

    A record that cannot be read goes to `letters`, as a whole; the others go on.

    >>> row = b'{"symbol": "AAPL", "trader": {"id": 7}}'
    >>> one = np.zeros(1, np.int64)
    >>> messages = Messages(
    ...     "topic", 0, np.frombuffer(row + b"\\n", np.uint8), one, one + len(row), one, one
    ... )
    >>> paths, limits = frozenset({"symbol", "trader.id"}), Limits()
    >>> (table,) = read_json(messages, one, paths, limits, Letters(messages, limits))
    >>> {path: list(column.texts()) for path, column in table.columns.items()}
    {'symbol': ['AAPL'], 'trader.id': ['7']}
    """
    if not len(which):
        return
    pool, numbering = TextPool(messages.buffer), Numbering()
    records = cut_records(pool.array, messages, which, lines)
    reader = _Reader(pool, records, Wanted.of(paths, each), limits, letters)
    first, most = 0, len(records)
    while first < len(records):
        stop, counts, values = reader.read(first, min(first + most, len(records)))
        own = slice(first, stop)
        numbers = numbering.rows(records.messages[own], records.lines[own], counts)
        [columns] = build_columns(values, Groups.of_all(len(numbers)), pool)
        if len(numbers):
            yield Table(columns, np.repeat(records.messages[own], counts), numbers)
        # If strange records cut a table short, do not scan far ahead in vain again.
        first, most = stop, 2 * (stop - first)


class _Reader:
    """The scanner reads the records it can; those it leaves are read one by one."""

    def __init__(
        self, pool: TextPool, records: Rows, wanted: Wanted, limits: Limits, letters: Letters
    ) -> None:
        self._pool, self._records, self._wanted = pool, records, wanted
        self._limits, self._letters = limits, letters
        self._scanner = Scanner(pool, records, limits)

    def read(self, first: int, end: int) -> tuple[int, NDArray[np.int64], RowValues]:
        """The records from `first` on, until their columns would be too many or too large.

        The record after them, how many rows each has, and the values of those rows.
        """
        found = self._scanner
        tree = RecordTree(self._wanted, self._limits)
        stop, used = found.scan(tree, first, end)
        names = tree.paths()
        left = np.flatnonzero(~found.taken[first:stop]) + first
        if len(left):
            stop, used = self._read_plainly(left, names, first, stop, used)
        counts = found.taken[first:stop].astype(np.int64)
        taken = np.flatnonzero(counts) + first
        if self._wanted.each is None:
            return stop, counts, RowValues(found.row_entries[taken], found.entries, used, names)
        counts[taken - first] = np.diff(found.row_parts[taken]).ravel()
        return stop, counts, self._parts(taken, used, names)

    def _read_plainly(
        self, left: NDArray[np.int64], names: list[str], first: int, stop: int, used: int
    ) -> tuple[int, int]:
        """Read the records `left` by the scanner; where all paths are read, `names` gets theirs.

        The record after the last and the number of entries: names may cut the records short.
        """
        found, records, limits = self._scanner, self._records, self._limits
        numbers = {name: number for number, name in enumerate(names) if number}
        plain, view = PlainEntries(self._pool.end), self._pool.array.data
        parts: list[tuple[int, int]] = []
        for row in left.tolist():
            cells = max(row - first, len(parts)) * (len(numbers) + 1)
            is_full = self._wanted.paths is None and len(numbers) > limits.max_fields
            if row > first and (is_full or cells > MOST_CELLS):
                stop = row
                break
            payload = bytes(view[records.starts[row] : records.ends[row]])
            try:
                values_of_rows = read_record(payload, self._wanted, limits)
            except Refusal as refusal:
                message, line = int(records.messages[row]), int(records.lines[row])
                self._letters.refuse(message, line, refusal.fault, payload)
                continue
            first_part = len(parts)
            for values in values_of_rows:
                start = used + len(plain)
                for path, value in values.items():
                    plain.add(numbers.setdefault(path, len(numbers) + 1), value)
                parts.append((start, used + len(plain)))
            found.put(row, parts[first_part:])
        names += list(numbers)[len(names) - 1 :]
        self._pool.append(plain.text())
        plain.put(found.entries, used)
        return stop, used + len(plain)

    def _parts(self, rows: NDArray[np.int64], used: int, names: list[str]) -> RowValues:
        """The values of the parts of these records, each with those beside it."""
        found = self._scanner
        about = (rows, found.row_entries, found.row_parts, found.parts)
        chosen = np.empty(kernel.count_entries(*about), np.int64)
        row_entries = np.empty((int(np.diff(found.row_parts[rows]).sum()), 2), np.int64)
        kernel.place_entries(*about, used, chosen, row_entries)
        found.entries.repeat(chosen, used)
        return RowValues(row_entries, found.entries, used + len(chosen), names)
