"""Columns of the same path from several places (schemas, branches of a union) become one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.tuples.column import Coded, Column
from synopses.texts import Texts

_LARGEST_EXACT = 2**53
Value = int | float | str


@dataclass(frozen=True, slots=True)
class Part:
    """The values of some rows of a table, one row each."""

    rows: NDArray[np.int64]
    column: Column

    def present(self) -> Part:
        """Without the rows that have no value."""
        valid = self.column.valid
        if valid is None:
            return self
        own = np.flatnonzero(valid)
        return Part(self.rows[own], Column(self.column.take(own).data))


def merge(rows: int, parts: Sequence[Part]) -> Column:
    """A column of `rows` rows. Where two parts have a value of the same row, either may stay.

    As in a column of JSON: integers among decimals become decimals if none is beyond 2**53; if
    one is, and among texts, all become texts.

    >>> some = Part(np.array([0, 2]), Column(np.array([1, 2])))
    >>> list(merge(3, [some, Part(np.array([1]), Column(Texts.of(["x"])))]).texts())
    ['1', 'x', '2']
    """
    if len(parts) == 1 and len(parts[0].rows) == rows:
        return parts[0].column  # a part has each of its rows once, in order
    parts = [part.present() for part in parts]
    parts = [part for part in parts if len(part.rows)]
    if not parts:
        return Column.missing(rows)
    valid = np.zeros(rows, np.bool_)
    for part in parts:
        valid[part.rows] = True
    kinds = {_kind(part.column) for part in parts}
    data: Any
    if kinds == {np.int64} or (kinds <= {np.int64, np.float64} and not _has_large(parts)):
        data = np.zeros(rows, np.int64 if kinds == {np.int64} else np.float64)
        for part in parts:
            data[part.rows] = part.column.data
    elif len(parts) == 1 and isinstance(parts[0].column.data, Coded):
        codes = np.zeros(rows, np.int32)
        codes[parts[0].rows] = parts[0].column.data.codes
        data = Coded(parts[0].column.data.texts, codes)
    else:
        data = _merge_texts(rows, parts)
    return Column(data, None if valid.all() else valid)


def merge_tables(
    rows: int, tables: Iterable[tuple[NDArray[np.int64], dict[str, Column]]]
) -> dict[str, Column]:
    """The columns of all tables by path; each table comes with the rows that its rows become."""
    parts: dict[str, list[Part]] = {}
    for own, columns in tables:
        for path, column in columns.items():
            parts.setdefault(path, []).append(Part(own, column))
    return {path: merge(rows, of_path) for path, of_path in parts.items()}


def columns_of_values(records: Sequence[dict[str, Value]]) -> dict[str, Column]:
    """The columns of records that were read one by one.

    >>> columns = columns_of_values([{"a": 1}, {"a": 2.5, "b": "x"}])
    >>> columns["a"].numbers().tolist(), columns["b"].valid.tolist()
    ([1.0, 2.5], [False, True])
    """
    cells: dict[str, dict[type, tuple[list[int], list[Any]]]] = {}
    for row, record in enumerate(records):
        for path, value in record.items():
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                value = str(value)
            rows, values = cells.setdefault(path, {}).setdefault(type(value), ([], []))
            rows.append(row)
            values.append(value)
    return {
        path: merge(len(records), [_part(kind, *own) for kind, own in of_path.items()])
        for path, of_path in cells.items()
    }


def _part(kind: type, rows: list[int], values: list[Any]) -> Part:
    data: Any
    if kind is str:
        data = Texts.of(values)
    else:
        data = np.array(values, np.int64 if kind is int else np.float64)
    return Part(np.array(rows, np.int64), Column(data))


def _kind(column: Column) -> type:
    return column.data.dtype.type if isinstance(column.data, np.ndarray) else str


def _has_large(parts: Sequence[Part]) -> bool:
    """Whether there is an integer that a decimal cannot be in all its digits."""
    integers = (part.column.data for part in parts if _kind(part.column) is np.int64)
    return any(
        len(data) and (int(data.max()) > _LARGEST_EXACT or int(data.min()) < -_LARGEST_EXACT)
        for data in integers
        if isinstance(data, np.ndarray)
    )


def _merge_texts(rows: int, parts: Sequence[Part]) -> Texts:
    """The texts of all parts one after the other, then in the order of the rows."""
    texts = [Texts.of([""]), *(part.column.texts() for part in parts)]  # the first is for gaps
    order, before = np.zeros(rows, np.int64), 1
    for part in parts:
        order[part.rows] = np.arange(before, before + len(part.rows))
        before += len(part.rows)
    return Texts.concatenated(texts).take(order)
