"""JSON of any shape becomes tables: a column for each path that is read.

messages ── records: whole, lines, or elements of an array ── rows: one, or one for each ──> tables
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sde.decoding.columns import Groups, build_columns
from sde.decoding.entries import Entries, PlainEntries, RowValues
from sde.decoding.json_records import Wanted, read_record
from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.pool import TextPool
from sde.decoding.rows import Numbering, Rows, cut_records
from sde.decoding.table import Table
from sde.wire.faults import Refusal

_MOST_CELLS = 16_000_000


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
    wanted = Wanted.of(paths, each)
    first = 0
    while first < len(records):
        stop, counts, values = _read(pool, records, first, wanted, limits, letters)
        own_messages, own_lines = records.messages[first:stop], records.lines[first:stop]
        numbers = numbering.rows(own_messages, own_lines, counts)
        [columns] = build_columns(values, Groups.of_all(len(numbers)), pool)
        if len(numbers):
            yield Table(columns, np.repeat(own_messages, counts), numbers)
        first = stop


def _read(
    pool: TextPool, records: Rows, first: int, wanted: Wanted, limits: Limits, letters: Letters
) -> tuple[int, NDArray[np.int64], RowValues]:
    """The records from `first` on, until their columns would be too many or too large.

    The record after them, how many rows each has, and the values of those rows.
    """
    plain, view = PlainEntries(pool.end), pool.array.data
    numbers: dict[str, int] = {}
    row_entries: list[tuple[int, int]] = []
    counts = []
    row = first
    while row < len(records):
        cells = len(row_entries) * (len(numbers) + 1)
        if row > first and (len(numbers) > limits.max_fields or cells > _MOST_CELLS):
            break
        payload = bytes(view[records.starts[row] : records.ends[row]])
        rows = []
        try:
            rows = read_record(payload, wanted, limits)
        except Refusal as refusal:
            message, line = int(records.messages[row]), int(records.lines[row])
            letters.refuse(message, line, refusal.fault, payload)
        for values in rows:
            before = len(plain)
            for path, value in values.items():
                plain.add(numbers.setdefault(path, len(numbers)), value)
            row_entries.append((before, len(plain)))
        counts.append(len(rows))
        row += 1
    pool.append(plain.text())
    entries = Entries(len(plain))
    plain.put(entries, 0)
    bounds = np.array(row_entries, np.int64).reshape(-1, 2)
    return row, np.array(counts, np.int64), RowValues(bounds, entries, len(plain), list(numbers))
