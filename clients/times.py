"""Durations, times and spans as Python has them, made into what the wire has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from clients.errors import BadInput
from clients.tuples import EPOCH, milliseconds
from sde.wire.durations import EXPECTED as A_DURATION
from sde.wire.durations import LONGEST, as_text
from sde.wire.durations import milliseconds as milliseconds_of
from sde.wire.windows import SESSION, SLIDING

Duration = str | timedelta
Seconds = float | Duration  # a number is that of seconds
Window = Mapping[str, Any] | Duration  # a length: windows that follow each other
Moment = int | str | datetime  # milliseconds since 1970, ISO 8601 (UTC if it has no zone)


def datetime_of(ms: Any) -> datetime | None:
    """Milliseconds since 1970 as a datetime in UTC; None for what is no time of a datetime.

    >>> datetime_of(1_500).isoformat()
    '1970-01-01T00:00:01.500000+00:00'
    """
    if not isinstance(ms, int) or isinstance(ms, bool):
        return None
    try:
        return EPOCH + timedelta(milliseconds=ms)
    except OverflowError:  # beyond the years there are
        return None


class Interval(NamedTuple):
    """Milliseconds since 1970. What an answer covers, and what `span=` takes."""

    start: int
    end: int

    @property
    def start_time(self) -> datetime | None:
        """`start` as a datetime in UTC."""
        return datetime_of(self.start)

    @property
    def end_time(self) -> datetime | None:
        """`end` as a datetime in UTC."""
        return datetime_of(self.end)


class CountInterval(Interval):
    """Of a window by count: the numbers of tuples it is from and to, which are no times."""

    __slots__ = ()

    @property
    def start_time(self) -> None:
        return None

    @property
    def end_time(self) -> None:
        return None


class SpanFields(NamedTuple):
    """The fields of a request that say which part of a windowed synopsis is meant."""

    end: int | str | None = None
    start: int | str | None = None
    to: int | str | None = None


def duration(value: Duration | None) -> str | None:
    """`"5m"` stays as it is; the engine says what is wrong with a text that is no duration.

    >>> duration(timedelta(minutes=5)), duration("90s")
    ('5m', '90s')
    """
    return as_text(value // timedelta(milliseconds=1)) if isinstance(value, timedelta) else value


def seconds(name: str, value: Seconds) -> float:
    """A time to wait, in seconds; BadInput with the name of the argument if it is none.

    >>> seconds("timeout", "1m"), seconds("timeout", timedelta(seconds=2)), seconds("timeout", 0.5)
    (60.0, 2.0, 0.5)
    """
    if isinstance(value, timedelta):
        found: float | None = value.total_seconds()
    elif isinstance(value, str):
        ms = milliseconds_of(value, least=0)
        found = None if ms is None else ms / 1000
    else:
        found = float(value) if isinstance(value, int | float) else None
    if found is None or isinstance(value, bool) or not 0 <= found <= LONGEST / 1000:
        raise BadInput(f"{name}={value!r}: expected a number of seconds or {A_DURATION}")
    return found


def moment(value: Moment) -> int | str:
    return value if isinstance(value, str) else milliseconds(value)


def window_of(window: Window) -> dict[str, Any]:
    """The window as it is on the wire, with durations as text.

    One with a slide is sliding, one with a gap is a session, if it does not say its type.

    >>> window_of("5m"), window_of({"size": timedelta(minutes=5), "slide": "10s"})
    ({'size': '5m'}, {'type': 'sliding', 'size': '5m', 'slide': '10s'})
    """
    said = window if isinstance(window, Mapping) else {"size": window}
    implied = {"type": SLIDING} if "slide" in said else {"type": SESSION} if "gap" in said else {}
    return {
        name: duration(value) if isinstance(value, timedelta) else value
        for name, value in (implied | dict(said)).items()
    }


def span_of(end: Moment | None, span: tuple[Moment, Moment] | None) -> SpanFields:
    if end is not None and span is not None:
        raise BadInput(f"end={end!r}, span={span!r}: expected one of the two")
    if span is not None:
        if not isinstance(span, tuple | list) or len(span) != 2:
            raise BadInput(f"span={span!r}: expected a pair of times, (from, to)")
        return SpanFields(start=moment(span[0]), to=moment(span[1]))
    return SpanFields(end=moment(end)) if end is not None else SpanFields()
