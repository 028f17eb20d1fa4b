"""Tuples as JSON: one object a message, or many, one a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from clients.errors import BadInput
from clients.tables import FRAME_START, decode_frame

Time = int | datetime | None
Row = Mapping[str, Any] | tuple[Any, ...]

LINES_A_MESSAGE = 1000
BYTES_A_MESSAGE = 1 << 20
_JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATETIME
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def encode_tuple(dataset: str, stream: str, values: Mapping[str, Any], time: Time = None) -> bytes:
    """One tuple as a line of JSON, without the end of the line."""
    message: dict[str, Any] = {"dataset": dataset, "stream": str(stream), "values": values}
    if time is not None:
        message["time"] = milliseconds(time)
    return encode(message)


def encode(message: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(message, _as_json, _JSON)
    except TypeError as error:
        reason = error.__cause__ or error
        raise BadInput(f"{str(message)[:200]}: cannot be sent as JSON: {reason}") from error


def _as_json(value: Any) -> int:
    """Times are milliseconds, as they are in frames."""
    if isinstance(value, datetime):
        return milliseconds(value)
    raise TypeError(f"{type(value).__name__} is no type of JSON")


def milliseconds(time: int | datetime) -> int:
    """Milliseconds since 1970, UTC."""
    if isinstance(time, datetime) and time.tzinfo is not None:
        return (time - _EPOCH) // timedelta(milliseconds=1)
    if isinstance(time, datetime) or not hasattr(time, "__index__"):
        raise BadInput(f"time={time!r}: expected milliseconds or a datetime with a time zone")
    return int(time)


def encode_lines(dataset: str, rows: Iterable[Row]) -> Iterator[tuple[bytes, int]]:
    """Messages of many lines, each with its number of tuples."""
    lines: list[bytes] = []
    size = 0
    for row in rows:
        line = encode_tuple(dataset, *_parts(row))
        if lines and (len(lines) == LINES_A_MESSAGE or size + len(line) > BYTES_A_MESSAGE):
            yield b"\n".join(lines), len(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line) + 1
    if lines:
        yield b"\n".join(lines), len(lines)


def _parts(row: Row) -> tuple[Any, ...]:
    if isinstance(row, Mapping):
        if {"stream", "values"} <= row.keys() <= {"stream", "values", "time"}:
            return row["stream"], row["values"], row.get("time")
    elif len(row) in (2, 3):
        return tuple(row)
    raise BadInput(
        f"row={str(row)[:200]}: expected (stream, values), (stream, values, time)"
        " or a mapping with these names"
    )


def decode(payload: bytes) -> list[dict[str, Any]]:
    """The tuples of a message, whatever its form."""
    if payload.startswith(FRAME_START):
        return decode_frame(payload)
    return [orjson.loads(line) for line in payload.splitlines()]
