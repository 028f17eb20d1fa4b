"""pyarrow, which only those need who send tables and files, or want some."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from clients.errors import BadInput, MissingExtra


def arrow() -> Any:
    """pyarrow, imported only by those who send tables."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("pyarrow") from None
    return pyarrow


@contextlib.contextmanager
def arrow_trouble_with(what: str) -> Iterator[None]:
    """What Arrow cannot read or convert is the caller's input, not our defect."""
    try:
        yield
    except arrow().ArrowException as error:
        raise BadInput(f"{what}: {error}") from error


def table_of(columns: Mapping[str, Sequence[Any]]) -> Any:
    """An Arrow table; a column whose values have no type in common is one of texts, of JSON."""
    return arrow().table({name: _array(values) for name, values in columns.items()})


def _array(values: Sequence[Any]) -> Any:
    pa = arrow()
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError):
        return pa.array([None if each is None else _text(each) for each in values], pa.string())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
