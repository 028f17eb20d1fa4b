"""Durations, times and spans as Python has them, made into what the wire has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from clients.errors import BadInput
from clients.transport import Message
from clients.tuples import milliseconds
from sde.wire.durations import as_text

Duration = str | timedelta
Moment = int | str | datetime  # milliseconds since 1970, ISO 8601 (UTC if it has no zone)


class Interval(NamedTuple):
    """Milliseconds since 1970. What an answer covers, and what `span=` takes."""

    start: int
    end: int


def duration(given: Duration | None) -> str | None:
    """`"5m"` stays as it is; the engine says what is wrong with one that is none.

    >>> duration(timedelta(minutes=5)), duration("90s")
    ('5m', '90s')
    """
    return as_text(given // timedelta(milliseconds=1)) if isinstance(given, timedelta) else given


def moment(given: Moment) -> int | str:
    return given if isinstance(given, str) else milliseconds(given)


def window_of(given: Mapping[str, Any]) -> Message:
    """The window with durations as text."""
    return {
        name: duration(value) if isinstance(value, timedelta) else value
        for name, value in given.items()
    }


def span_of(end: Moment | None, span: tuple[Moment, Moment] | None) -> Message:
    """The fields of a request that say which part of a windowed synopsis is meant."""
    if end is not None and span is not None:
        raise BadInput(f"end={end!r}, span={span!r}: expected one of the two")
    if span is not None:
        if isinstance(span, str) or len(span) != 2:
            raise BadInput(f"span={span!r}: expected a pair of times, (from, to)")
        return {"from": moment(span[0]), "to": moment(span[1])}
    return {"end": moment(end)} if end is not None else {}
