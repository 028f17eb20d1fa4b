"""CSV: messages of one record or several, with a line of names first or without.

RFC 4180: fields between delimiters, in quotes if there is a delimiter, quote or newline in one.
Every value is a text, as it was written. An empty field without quotes is missing. A record that
is no CSV, or has another number of fields than there are names, is refused alone; behind a quote
that is never closed the rest of its message is one record.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.schema_tables import MOST_CELLS
from sde.decoding.table import Table
from sde.kernels import csv_scan as kernel
from sde.kernels.lines import count_newlines, starting_with
from sde.tuples.column import Column
from sde.tuples.spans import gather
from sde.wire.faults import Code, Fault, Refusal
from synopses.texts import Texts

_BYTE_ORDER_MARK = np.array([0xEF, 0xBB, 0xBF], np.uint8)
_REASONS = {
    kernel.OPEN_QUOTE: "a quote that is never closed",
    kernel.BEHIND_QUOTE: "something stands between the end of a quote and the next delimiter",
}


@dataclass(frozen=True, slots=True)
class _Rows:
    """Record i is buffer[starts[i]:ends[i]], line lines[i] of message messages[i]."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    messages: NDArray[np.int64]
    lines: NDArray[np.int64]
    quoted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> _Rows:
        return _Rows(
            self.starts[rows],
            self.ends[rows],
            self.messages[rows],
            self.lines[rows],
            self.quoted[rows],
        )


def read_csv(
    messages: Messages,
    which: NDArray[np.int64],
    paths: frozenset[str] | None,
    limits: Limits,
    letters: Letters,
    names: tuple[str, ...] | None = None,
    delimiter: str = ",",
) -> Iterator[Table]:
    """Tables of the messages `which`; a name is a path.

    `names` are those of the fields; None: they are the first record of each message.
    """
    reader = _Reader(messages, which, paths, limits, letters, delimiter)
    yield from reader.with_headers() if names is None else reader.tables(reader.rows, names)


class _Reader:
    def __init__(
        self,
        messages: Messages,
        which: NDArray[np.int64],
        paths: frozenset[str] | None,
        limits: Limits,
        letters: Letters,
        delimiter: str,
    ) -> None:
        self._paths, self._limits, self._letters = paths, limits, letters
        self._delimiter = delimiter
        # Kernels are compiled for writable arrays, though nothing is written to this one.
        self._buffer = np.require(messages.buffer, np.uint8, ["C", "W"])
        self.rows = self._cut(messages, which)

    def _cut(self, messages: Messages, which: NDArray[np.int64]) -> _Rows:
        buffer, starts, ends = self._buffer, messages.starts, messages.ends
        marked = np.empty(len(which), np.bool_)
        starting_with(buffer, starts, ends, which, _BYTE_ORDER_MARK, marked)
        if marked.any():
            starts = starts.copy()
            starts[which[marked]] += len(_BYTE_ORDER_MARK)
        most = len(which) + count_newlines(buffer, 0, len(buffer))
        cut, quoted = np.empty((4, most), np.int64), np.empty(most, np.bool_)
        count = kernel.cut_records(buffer, starts, ends, which, ord(self._delimiter), *cut, quoted)
        starts, ends, places, lines = cut[:, :count]
        return _Rows(starts, ends, places, lines, quoted[:count])

    def with_headers(self) -> Iterator[Table]:
        """The first record of each message has the names; those with the same go together."""
        rows = self.rows
        is_header = np.diff(rows.messages, prepend=-1) != 0
        headers = rows.take(is_header)
        same = np.empty(len(headers), np.bool_)
        kernel.same_as_before(self._buffer, headers.starts, headers.ends, same)
        changes = [*np.flatnonzero(is_header)[~same].tolist(), len(rows)]
        for first, stop in pairwise(changes):
            run = rows.take(slice(first, stop))
            own = is_header[first:stop]
            try:
                names = self._names(run)
            except Refusal as refusal:
                for header in np.flatnonzero(own).tolist():
                    self._refuse(run, header, refusal.fault)
                continue
            yield from self.tables(run.take(~own), names)

    def _names(self, rows: _Rows) -> tuple[str, ...]:
        """Those in the first of the rows; Refusal says why its whole message is refused."""
        size = int(rows.ends[0] - rows.starts[0])
        if size > self._limits.max_tuple_bytes:
            raise Refusal(Code.TOO_LARGE, f"a line of names of {size:,} bytes")
        header = self._buffer[rows.starts[0] : rows.ends[0]].tobytes()
        try:
            source = io.StringIO(header.decode(), newline="")
            (names,) = csv.reader(source, delimiter=self._delimiter, strict=True)
        except (UnicodeDecodeError, csv.Error, ValueError) as error:
            raise Refusal(Code.BAD_RECORD, f"the line of names is no CSV: {error}") from None
        most, longest = self._limits.max_fields, self._limits.max_name
        if len(names) > most:
            text = f"a line of {len(names)} names: expected at most {most}"
            raise Refusal(Code.TOO_LARGE, text)
        if not all(0 < len(name) <= longest for name in names) or len(set(names)) < len(names):
            text = f"the line of names: expected different ones, of 1 to {longest} characters each"
            raise Refusal(Code.BAD_RECORD, text)
        return tuple(names)

    def tables(self, rows: _Rows, names: tuple[str, ...]) -> Iterator[Table]:
        """The tables of rows whose fields have these names."""
        wanted = [name for name in names if self._paths is None or name in self._paths]
        numbers = {name: i for i, name in enumerate(wanted)}
        column_of = np.array([numbers.get(name, -1) for name in names], np.int64)
        rows = self._sizes_checked(rows)
        at_once = max(1, MOST_CELLS // max(1, len(wanted)))
        for first in range(0, len(rows), at_once):
            yield self._table(rows.take(slice(first, first + at_once)), wanted, column_of)

    def _sizes_checked(self, rows: _Rows) -> _Rows:
        most, sizes = self._limits.max_tuple_bytes, rows.ends - rows.starts
        large = sizes > most
        if not large.any():
            return rows
        for row in np.flatnonzero(large).tolist():
            text = f"a record of {sizes[row]:,} bytes: expected at most {most:,}"
            self._refuse(rows, row, Fault(Code.TOO_LARGE, text))
        return rows.take(~large)

    def _table(self, rows: _Rows, wanted: list[str], column_of: NDArray[np.int64]) -> Table:
        shape = (max(1, len(wanted)), len(rows))
        starts, stops = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        present, doubled = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        outcomes = np.empty(len(rows), np.int64)
        kernel.cut_fields(
            self._buffer, rows.starts, rows.ends, rows.quoted, ord(self._delimiter), column_of,
            starts, stops, present, doubled, outcomes,
        )  # fmt: skip
        taken = outcomes == len(column_of)
        if not taken.all():
            for row in np.flatnonzero(~taken).tolist():
                self._refuse(rows, row, _fault(int(outcomes[row]), len(column_of)))
            starts, stops, present = starts[:, taken], stops[:, taken], present[:, taken]
            doubled, rows = doubled[:, taken], rows.take(taken)
        columns = {}
        for i, name in enumerate(wanted):
            texts = _texts(self._buffer, starts[i], stops[i], doubled[i])
            columns[name] = Column(texts, None if present[i].all() else present[i])
        return Table(columns, rows.messages, rows.lines)

    def _refuse(self, rows: _Rows, row: int, fault: Fault) -> None:
        payload = self._buffer[rows.starts[row] : rows.ends[row]].tobytes()
        self._letters.refuse(int(rows.messages[row]), int(rows.lines[row]), fault, payload)


def _texts(
    buffer: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    doubled: NDArray[np.bool_],
) -> Texts:
    if not doubled.any():
        return gather(buffer, starts, stops)
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(stops - starts, out=offsets[1:])
    out = np.empty(offsets[-1], np.uint8)
    kernel.gather_single(buffer, starts, doubled, out, offsets)
    return Texts(out, offsets)


def _fault(outcome: int, names: int) -> Fault:
    if outcome == kernel.NOT_UTF8:
        return Fault(Code.BAD_ENCODING, "not UTF-8")
    reason = _REASONS.get(outcome, f"{outcome} fields: expected {names}")
    return Fault(Code.BAD_RECORD, f"not a record of CSV: {reason}")
