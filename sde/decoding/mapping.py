"""The mapping of a source, compiled: which paths of a record are read, and the tuple they make."""

from __future__ import annotations

from collections.abc import Mapping as Columns

import numpy as np
from numpy.typing import NDArray

from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.metadata import HEADERS, KEY, metadata
from sde.decoding.table import Table
from sde.decoding.tuple_columns import TupleColumns
from sde.expressions import Expression, ExpressionError, Type, evaluate, holds, parse, paths
from sde.tuples.column import Column
from sde.tuples.times import NO_TIME, event_times
from sde.wire.faults import Code, Refusal
from sde.wire.sources import Mapping

_A_TIME = "seconds or milliseconds since 1970, or ISO 8601, in the years 1 to 9999"


class Mapper:
    """Made from a request; Refusal says which expression of it is wrong, and where.

    >>> from sde.wire.sources import Preview
    >>> trades = Preview(topic="t", dataset="Trades", stream="sym", fields={"cost": "px * qty"})
    >>> sorted(Mapper(trades).paths(None))
    ['px', 'qty', 'sym']
    """

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self._stream = _parsed("stream", mapping.stream)
        self._time = _parsed("time", mapping.time)
        self._where = _parsed("where", mapping.where, Type.BOOLEAN)
        self._fields: dict[str, Expression] | None = None
        if mapping.fields is not None:
            self._fields = {
                name: _expression(f"fields.{name}", text) for name, text in mapping.fields.items()
            }

    @property
    def dataset(self) -> str:
        return self.mapping.dataset or ""

    @property
    def reads_keys(self) -> bool:
        """Whether it needs the keys of messages."""
        return KEY in self._all_named()

    @property
    def reads_headers(self) -> bool:
        """Whether it needs the headers of messages."""
        return any(path.startswith(HEADERS) for path in self._all_named())

    def paths(self, fields: frozenset[str] | None) -> frozenset[str] | None:
        """The paths of a record that are read for these fields of a tuple (None: for all).

        None for every path there is.
        """
        if self._fields is None:
            return None if fields is None else _in_records(self._named() | fields)
        return _in_records(self._named().union(*map(paths, self._chosen(fields).values())))

    def tuples(
        self,
        table: Table,
        messages: Messages,
        limits: Limits,
        letters: Letters,
        fields: frozenset[str] | None,
        *,
        removes: bool = False,
    ) -> TupleColumns:
        """The tuples of the records in a table for which `where` is true.

        `removes`: they are to be taken away.
        """
        assert self._stream is not None, "tuples are not mapped"
        columns = {**table.columns, **metadata(self._all_named(), messages, table.message_of)}
        message_of, lines = table.message_of, table.lines
        if self._where is not None:
            rows = np.flatnonzero(holds(self._where, columns, len(table)))
            if len(rows) < len(table):
                columns = {path: column.take(rows) for path, column in columns.items()}
                message_of, lines = message_of[rows], lines[rows]
        said = times = None
        if self._time is not None:
            said = evaluate(self._time, columns, len(lines))
            times = event_times(said, "auto")
        tuples = TupleColumns(
            messages,
            limits,
            letters,
            dataset=self.dataset,
            streams=evaluate(self._stream, columns, len(lines)),
            times=None if times is None else Column(times, times != NO_TIME),
            fields=self._values(columns, len(lines), fields),
            message_of=message_of,
            lines=lines,
            excerpt=lambda message, line: messages.payload(message),
            removes=removes,
        )
        if said is not None and times is not None:
            _refuse_wrong(said, times, tuples)
        return tuples

    def _values(
        self, columns: Columns[str, Column], rows: int, fields: frozenset[str] | None
    ) -> dict[str, Column]:
        if self._fields is None:
            leaves = {path: c for path, c in columns.items() if not path.startswith("$")}
            return {path: c for path, c in leaves.items() if fields is None or path in fields}
        return {
            name: evaluate(expression, columns, rows)
            for name, expression in self._chosen(fields).items()
        }

    def _chosen(self, fields: frozenset[str] | None) -> dict[str, Expression]:
        mapped = self._fields or {}
        return {n: e for n, e in mapped.items() if fields is None or n in fields}

    def _named(self) -> frozenset[str]:
        """The paths that stream, time and `where` are made of."""
        used = (e for e in (self._stream, self._time, self._where) if e is not None)
        return frozenset().union(*map(paths, used))

    def _all_named(self) -> frozenset[str]:
        return self._named().union(*map(paths, (self._fields or {}).values()))


def _parsed(name: str, text: str | None, result: Type = Type.UNKNOWN) -> Expression | None:
    return None if text is None else _expression(name, text, result)


def _expression(name: str, text: str, result: Type = Type.UNKNOWN) -> Expression:
    try:
        return parse(text, result=result)
    except ExpressionError as error:
        raise Refusal(Code.BAD_PARAMETER, f"{name}={text[:80]!r}: {error}", name) from None


def _in_records(named: frozenset[str]) -> frozenset[str]:
    return frozenset(path for path in named if not path.startswith("$"))


def _refuse_wrong(column: Column, times: NDArray[np.int64], tuples: TupleColumns) -> None:
    """Rows that have something in the place of their time which is none."""
    wrong = times == NO_TIME
    if column.valid is not None:
        wrong &= column.valid
    rows = np.flatnonzero(wrong)
    if len(rows):
        texts = column.take(rows).texts()
        for number, row in enumerate(rows.tolist()):
            tuples.refuse(row, "time", f"time={texts[number][:80]!r}: expected {_A_TIME}")
