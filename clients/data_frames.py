"""Tables as users have them, made into Arrow tables of plain values."""

from __future__ import annotations

import bisect
from typing import Any

from clients.arrow import arrow
from clients.errors import BadInput

_PLAIN_VALUES = "numbers, truth values, times or text"


def as_arrow(table: Any, place: str, first: int) -> Any:
    """A DataFrame or an Arrow table as an Arrow table; BadInput if it has other than plain values.

    It names the row by its number; `first` is that of the first one.
    """
    made = _converted(table, place, first)
    _check_plain(made, place, first)
    return made


def _converted(table: Any, place: str, first: int) -> Any:
    pa = arrow()
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if type(table).__module__.partition(".")[0] != "pandas":
        raise BadInput(f"table: {type(table).__name__}, expected a DataFrame or an Arrow table")
    frame = _with_index_columns(table)
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, OverflowError) as error:
        _refuse_mixed(frame, place, first)
        raise BadInput(f"table: {error}") from error


def _with_index_columns(frame: Any) -> Any:
    """The frame with the named levels of its index as columns; BadInput where it has such ones."""
    levels = [name for name in frame.index.names if name is not None]
    for name in levels:
        if name in frame.columns:
            raise BadInput(
                f"table: both its index and a column are named {name!r}; rename one of them, or"
                " drop the index with reset_index(drop=True)"
            )
    return frame.reset_index(level=levels) if levels else frame


def _refuse_mixed(frame: Any, place: str, first: int) -> None:
    """BadInput for the first value that does not fit those above it in its column."""
    for name, column in frame.items():
        values = column.tolist()
        if column.dtype != object or _fit(values):
            continue
        # The shortest beginning that does not fit ends with the value.
        at = bisect.bisect_left(range(len(values)), True, key=lambda n: not _fit(values[: n + 1]))
        raise BadInput(
            f"{place} {first + at}: column {name!r}: {str(values[at])[:80]}: expected values of one"
            f" type in a column: {_PLAIN_VALUES}"
        )


def _fit(values: list[Any]) -> bool:
    """Whether an Arrow column can be made of them."""
    pa = arrow()
    try:
        pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        return False
    return True


def _check_plain(table: Any, place: str, first: int) -> None:
    """BadInput for the first row of a column whose values have parts, or are bytes."""
    from pyarrow import compute

    is_ = arrow().types
    for name, column in zip(table.column_names, table.columns, strict=True):
        at = compute.index(column.is_valid(), True).as_py()
        if at < 0 or not (is_.is_nested(column.type) or is_.is_binary(column.type)):
            continue
        raise BadInput(
            f"{place} {first + at}: column {name!r}: {str(column[at].as_py())[:80]}: expected"
            f" {_PLAIN_VALUES}; give each part of a value a column of its own"
        )
