"""Durations, times and spans as Python has them, made into what the wire has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from clients.errors import BadInput
from clients.tuples import milliseconds
from sde.wire.durations import as_text

Duration = str | timedelta
Moment = int | str | datetime  # milliseconds since 1970, ISO 8601 (UTC if it has no zone)


class Interval(NamedTuple):
    """Milliseconds since 1970. What an answer covers, and what `span=` takes."""

    start: int
    end: int


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


def moment(value: Moment) -> int | str:
    return value if isinstance(value, str) else milliseconds(value)


def window_of(window: Mapping[str, Any]) -> dict[str, Any]:
    """The window with durations as text."""
    return {
        name: duration(value) if isinstance(value, timedelta) else value
        for name, value in window.items()
    }


def span_of(end: Moment | None, span: tuple[Moment, Moment] | None) -> SpanFields:
    if end is not None and span is not None:
        raise BadInput(f"end={end!r}, span={span!r}: expected one of the two")
    if span is not None:
        if isinstance(span, str) or len(span) != 2:
            raise BadInput(f"span={span!r}: expected a pair of times, (from, to)")
        return SpanFields(start=moment(span[0]), to=moment(span[1]))
    return SpanFields(end=moment(end)) if end is not None else SpanFields()
