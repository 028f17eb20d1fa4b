"""Tuples as JSON: one object a message, or many, one a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from clients.errors import BadInput
from clients.lanes import Parcel, lane_of
from clients.tables import FRAME_START, decode_frame

Time = int | datetime | None
Row = Mapping[str, Any] | tuple[Any, ...]

LINES_A_MESSAGE = 1000
BYTES_A_MESSAGE = 1 << 20
_PLAIN = frozenset({str, int, float, bool, type(None)})
_JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATETIME
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def encode_tuple(
    dataset: str, stream: str | int, values: Mapping[str, Any], time: Time = None
) -> bytes:
    """One tuple as a line of JSON, without the end of the line."""
    _check_values(values)
    message: dict[str, Any] = {"dataset": dataset, "stream": stream_name(stream), "values": values}
    if time is not None:
        message["time"] = milliseconds(time)
    try:
        return encode(message)
    except BadInput:
        for name, value in values.items():
            _check_json(name, value)
        raise


def stream_name(stream: Any) -> str:
    """A name; a whole number is its digits. BadInput for what no name can be made of.

    >>> stream_name("EURUSD"), stream_name(7), stream_name(7.0)
    ('EURUSD', '7', '7')
    """
    if isinstance(stream, str) and stream:
        return stream
    if not isinstance(stream, bool):
        if hasattr(stream, "__index__"):  # numpy's whole numbers, too
            return str(int(stream))
        if isinstance(stream, float) and stream.is_integer():
            return str(int(stream))
    raise BadInput(f"stream={stream!r}: expected the name of a stream: a text or a whole number")


def _check_values(values: Mapping[str, Any]) -> None:
    """BadInput for what the engine would count as missing, in silence."""
    if not isinstance(values, Mapping):
        raise BadInput(f"values={str(values)[:80]}: expected fields by their names, as a mapping")
    for name, value in values.items():
        if type(value) not in _PLAIN and _is_nested(value):
            raise BadInput(
                f"values[{name!r}]={str(value)[:80]}: expected a number, a text, a truth value, a"
                " time or None; give each part of it a field of its own"
            )


def _is_nested(value: Any) -> bool:
    if isinstance(value, Mapping | Set) or is_dataclass(value):
        return True
    if getattr(value, "ndim", 0) > 0:  # an array of numpy
        return True
    return isinstance(value, Sequence) and not isinstance(value, str)


def _check_json(name: str, value: Any) -> None:
    """BadInput with the field of a value that JSON has not."""
    try:
        orjson.dumps(value, _as_json, _JSON)
    except TypeError as error:
        reason = error.__cause__ or error
        raise BadInput(
            f"values[{name!r}]={str(value)[:80]}: cannot be sent as JSON: {reason}"
        ) from error


def encode(message: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(message, _as_json, _JSON)
    except TypeError as error:
        reason = error.__cause__ or error
        raise BadInput(f"{str(message)[:200]}: cannot be sent as JSON: {reason}") from error


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as JSON has them: numbers of numpy and times become numbers.

    >>> plain({"since": datetime(1970, 1, 2, tzinfo=UTC), "keys": ("a", "b")})
    {'since': 86400000, 'keys': ['a', 'b']}
    """
    return dict(orjson.loads(encode(values)))


def _as_json(value: Any) -> int:
    """Times are milliseconds, as they are in frames."""
    if isinstance(value, datetime):
        return milliseconds(value)
    raise TypeError(f"{type(value).__name__} is no type of JSON")


def milliseconds(time: int | datetime) -> int:
    """Milliseconds since 1970; a datetime without a time zone is in UTC, as it is in tables.

    >>> milliseconds(datetime(1970, 1, 2)), milliseconds(5)
    (86400000, 5)
    """
    if isinstance(time, datetime):
        moment = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        return (moment - EPOCH) // timedelta(milliseconds=1)
    if not hasattr(time, "__index__"):
        raise BadInput(f"time={time!r}: expected milliseconds or a datetime")
    return int(time)


def encode_lines(
    dataset: str,
    rows: Iterable[tuple[int, Row]],
    lanes: int,
    place: str = "row",
    *,
    finish: bool = False,
) -> Iterator[Parcel]:
    """Messages of many lines, in the lanes of their streams.

    Rows come with their numbers; BadInput names the number of the one that cannot be sent. With
    `finish` all rows before it are in messages then, so that a sender can go on behind it.
    """
    waiting = [_Lines(lane) for lane in range(lanes)]
    try:
        for count, (number, row) in enumerate(rows, start=1):
            line, stream = _line(dataset, row, f"{place} {number}")
            lines = waiting[lane_of(dataset, stream, lanes)]
            if lines.is_full_for(line):
                yield lines.parcel()
            lines.add(line)
            if count % (LINES_A_MESSAGE * lanes) == 0:
                # All lanes, so that in none a tuple waits while others run far ahead of its time.
                yield from (each.parcel() for each in waiting if each.count)
    except BadInput:
        if finish:
            yield from (each.parcel() for each in waiting if each.count)
        raise
    yield from (each.parcel() for each in waiting if each.count)


def _line(dataset: str, row: Row, place: str) -> tuple[bytes, str]:
    """The line of a row, and the name of its stream."""
    try:
        stream, values, time = _parts(row)
        return encode_tuple(dataset, stream, values, time), stream_name(stream)
    except BadInput as error:
        raise BadInput(f"{place}: {error}") from error


class _Lines:
    """The lines that wait in one lane for their message."""

    def __init__(self, lane: int) -> None:
        self._lane = lane
        self._lines: list[bytes] = []
        self._size = 0

    @property
    def count(self) -> int:
        return len(self._lines)

    def is_full_for(self, line: bytes) -> bool:
        too_large = self._size + len(line) > BYTES_A_MESSAGE
        return self.count == LINES_A_MESSAGE or (too_large and self.count > 0)

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def parcel(self) -> Parcel:
        """The message; nothing waits afterwards."""
        parcel = Parcel(b"\n".join(self._lines), self.count, self._lane)
        self._lines, self._size = [], 0
        return parcel


def _parts(row: Row) -> tuple[Any, Any, Any]:
    if isinstance(row, Mapping):
        if {"stream", "values"} <= row.keys() <= {"stream", "values", "time"}:
            return row["stream"], row["values"], row.get("time")
    elif len(row) in (2, 3):
        return row[0], row[1], row[2] if len(row) == 3 else None
    raise BadInput(
        f"row={str(row)[:200]}: expected (stream, values), (stream, values, time)"
        " or a mapping with these names"
    )


def decode(payload: bytes) -> list[dict[str, Any]]:
    """The tuples of a message, whatever its form."""
    if payload.startswith(FRAME_START):
        return decode_frame(payload)
    return [orjson.loads(line) for line in payload.splitlines()]
