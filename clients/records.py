"""Lists of records: rows with names, in Jupyter, as a DataFrame, as an Arrow table, as a plot."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Self, TypeVar

from clients.arrow import table_of
from clients.errors import MissingExtra
from clients.plots import draw_rows
from clients.times import datetime_of
from clients.transport import Message
from clients.wording import shown

# Under these names the engine tells times, in milliseconds.
MOMENTS = frozenset({"time", "since", "watermark", "expires", "at", "added", "due"})
T = TypeVar("T")


class Record(dict[str, Any]):
    """A row of an answer: `row.key` is `row["key"]`; a `time` is a datetime.

    >>> Record(key="ann", value=3.0).value
    3.0
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{name!r}: expected one of {', '.join(self)}") from None


class Records(tuple[T, ...]):
    """A tuple of records: a table in Jupyter, `to_pandas()` a DataFrame.

    `warnings` says what is in none of them.
    """

    _columns_if_empty: tuple[str, ...]
    warnings: tuple[str, ...]

    def __new__(
        cls,
        records: Iterable[T] = (),
        columns_if_empty: Iterable[str] = (),
        warnings: Iterable[str] = (),
    ) -> Self:
        made = super().__new__(cls, records)
        made._columns_if_empty, made.warnings = tuple(columns_if_empty), tuple(warnings)
        return made

    @property
    def columns(self) -> list[str]:
        """The names that some record has, in the order of their first appearance."""
        return list(
            dict.fromkeys(name for row in self.rows for name in row)
            if self
            else self._columns_if_empty
        )

    @property
    def rows(self) -> list[Record]:
        return [row_of(record) for record in self]

    @property
    def cells(self) -> list[list[Any]]:
        """A list for each record, in the order of the columns; None for a name it has not."""
        columns = self.columns
        return [[row.get(name) for name in columns] for row in self.rows]

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each record; times are datetimes."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("pandas") from None
        frame = pandas.DataFrame(self.cells, columns=self.columns)
        if self.warnings:
            frame.attrs["warnings"] = [*self.warnings]
        return frame

    def to_arrow(self) -> Any:
        """An Arrow table with a row for each record. Columns of several types are texts."""
        rows = self.rows
        return table_of({name: [row.get(name) for row in rows] for name in self.columns})

    def plot(self, column: str = "value", *, axes: Any = None) -> Any:
        """Draw a column with matplotlib; values with their bounds. Returns the axes.

        What follows each other (answers of a watch, of windows) is a line, others are points.
        """
        return draw_rows(self.rows, column, axes)

    def _repr_html_(self) -> str:
        return html_table(self.columns, self.cells)


def row_of(record: Any) -> Record:
    """A record by names: of a mapping, or of an object that says or declares its fields.

    A field without a value is left out, unless the object says its row itself.
    """
    if hasattr(record, "as_row"):
        named = record.as_row()
    elif is_dataclass(record):
        declared = {f.name: getattr(record, f.name) for f in fields(record) if f.repr}
        named = {name: value for name, value in declared.items() if value is not None}
    else:
        named = dict(record)
    return Record({name: _told(name, value) for name, value in named.items()})


def known_fields(cls: type[Any], reply: Message) -> Message:
    """The fields of a reply that the class names; an engine of another version may have others."""
    names = {each.name for each in fields(cls)} - {"raw"}
    return {name: reply[name] for name in names & reply.keys()}


def declared_columns(record: type[Any]) -> tuple[str, ...]:
    """The names that rows of such records may have."""
    return tuple(getattr(record, "row_names", [f.name for f in fields(record) if f.repr]))


def _told(name: str, value: Any) -> Any:
    return (datetime_of(value) or value) if name in MOMENTS else value


def records_of(value: Any, lower: Any, upper: Any, columns: Sequence[str]) -> Records[Record]:
    """The rows of an answer's value; a value that is no list is one row."""
    items = value if isinstance(value, list) else [value]
    rows = [_named(item, columns) for item in items]
    for name, bounds in (("lower", lower), ("upper", upper)):
        apart = isinstance(value, list)  # then the bounds are lists too, if there are any
        each = bounds if apart and isinstance(bounds, list) else [None if apart else bounds]
        if len(each) == len(rows):
            for row, bound in zip(rows, each, strict=True):
                if bound is not None:
                    row.setdefault(name, bound)
    return Records((row_of(row) for row in rows), columns or ("value",))


def _named(item: Any, columns: Sequence[str]) -> dict[str, Any]:
    if isinstance(item, Mapping):
        several = item.get("values")
        return {**item} if not isinstance(several, Mapping) else _beside(item, several)
    if isinstance(item, list):
        names = columns if len(columns) == len(item) else [str(at) for at in range(len(item))]
        return dict(zip(names, item, strict=True))
    return {"value": item}


def _beside(item: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose values have names: each has a column, like the key and the time."""
    taken = {name: found for name, found in item.items() if name != "values"}
    return taken | {f"values.{n}" if n in taken else n: found for n, found in values.items()}


def html_table(columns: Iterable[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """A table as HTML, "no rows" if it has none; what comes from outside is escaped."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    notes = [text for text in ("" if body else "no rows", note) if text]
    below = f"<p>{html.escape(', '.join(notes))}</p>" if notes else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _html_cell(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    style = ' style="text-align: right"' if is_number else ""
    return f"<td{style}>{html.escape(shown(value))}</td>"
