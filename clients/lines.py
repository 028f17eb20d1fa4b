"""Lines of JSON, one object each, as rows: a tuple's fields, or our own envelope around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import orjson

from clients.errors import BadInput
from clients.tuples import Row

_BLOCK = 1 << 20  # bytes read at once
_ENVELOPE = frozenset({"dataset", "stream", "values", "time"})
Numbered = list[tuple[int, bytes]]


def read_lines(read: Callable[[int], bytes], first: bytes = b"") -> Iterator[Numbered]:
    """Lines with their numbers, blank ones left out, as many at a time as have come.

    `read` gives what there is, b"" at the end; `first` was read already.
    """
    rest, block, number = [b""], first or read(_BLOCK), 1
    while block:
        ended, newline, begun = block.rpartition(b"\n")
        if newline:
            lines = b"".join([*rest, ended]).split(b"\n")
            yield [(number + at, line) for at, line in enumerate(lines) if line.strip()]
            number, rest = number + len(lines), []
        rest.append(begun)  # joined once: a line may come in a thousand blocks
        block = read(_BLOCK)
    last = b"".join(rest)
    if last.strip():
        yield [(number, last)]


def row_of_line(line: bytes, *, dataset: str, stream: str, time: str | None) -> Row:
    """The tuple of a line; BadInput if it is none of this data set."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"{_excerpt(line)}: expected a JSON object: {error}") from None
    return row_of_object(found, dataset=dataset, stream=stream, time=time)


def row_of_object(found: Any, *, dataset: str, stream: str, time: str | None) -> Row:
    """The same for what JSON is read already."""
    if not isinstance(found, dict):
        raise BadInput(f"{str(found)[:80]}: expected a JSON object")
    told = found.pop("dataset", dataset)
    if told != dataset:
        raise BadInput(f"dataset={told!r}: expected {dataset!r}, to which the tuples are sent")
    if isinstance(found.get("values"), dict):
        if not found.keys() <= _ENVELOPE:
            unknown = ", ".join(sorted(found.keys() - _ENVELOPE))
            raise BadInput(f"{unknown}: expected only dataset, stream and time beside `values`")
        return _named(found, "stream"), found["values"], _moment(found.get("time"))
    return _flat(found, stream, time)


def _flat(found: dict[str, Any], stream: str, time: str | None) -> Row:
    if time is None and "time" in found:
        time = "time"
    for reserved, name in (("stream", stream), ("time", time)):
        if name != reserved and reserved in found:
            raise BadInput(
                f"{reserved}={name!r}: the object has a field {reserved!r} too; rename it"
            )
    moment = None if time is None else _moment(_named(found, time))
    values = {name: value for name, value in found.items() if name not in ("stream", "time")}
    return _named(found, stream), values, moment


def _named(found: dict[str, Any], name: str) -> Any:
    if name not in found:
        raise BadInput(f"{name!r}: expected a field of this name, beside {', '.join(found)}")
    return found[name]


def _moment(value: Any) -> Any:
    """Numbers are milliseconds; text is ISO 8601, in UTC where it names no zone."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise BadInput(f"time={value!r}: expected milliseconds or ISO 8601") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _excerpt(line: bytes) -> str:
    return line[:80].decode(errors="replace").strip()
