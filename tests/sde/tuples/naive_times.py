"""The obvious way to read a time, one value at a time, with `datetime`."""

import re
from datetime import UTC, datetime, timedelta, timezone

from sde.tuples.times import NO_TIME

BLANKS = " \t\n\v\f\r"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)

ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|([+-])(\d\d)(?::?(\d\d))?)?)?",
    re.ASCII,
)
INFORE = re.compile(r"(\d\d?)/(\d\d?)/(\d{4}) (\d\d?):(\d\d):(\d\d)", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def event_time(value, format):
    """The time of None, an int, a float or a text."""
    if value is None:
        return NO_TIME
    if not isinstance(value, str):
        return _number(float(value), format) if format in ("auto", "s", "ms") else NO_TIME
    text = value.strip(BLANKS)
    try:
        if format in ("auto", "iso") and (match := ISO.fullmatch(text)):
            return _iso(match)
        if format in ("auto", "infore") and (match := INFORE.fullmatch(text)):
            month, day, year, *clock = map(int, match.groups())
            return _since_epoch(datetime(year, month, day, *clock, tzinfo=UTC))
    except (ValueError, OverflowError):
        return NO_TIME
    if format in ("auto", "s", "ms") and NUMBER.fullmatch(text):
        return _number(float(text), format)
    return NO_TIME


def _iso(match):
    year, month, day, hour, minute, second, fraction, _, sign, hours, minutes = match.groups()
    if hours and (int(hours) > 23 or int(minutes or 0) > 59):
        return NO_TIME
    ahead = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    zone = timezone(-ahead if sign == "-" else ahead)
    numbers = [int(part or 0) for part in (year, month, day, hour, minute, second)]
    milliseconds = int((fraction or "").ljust(3, "0")[:3])
    return _since_epoch(datetime(*numbers, milliseconds * 1000, tzinfo=zone))


def _number(number, format):
    if not abs(number) < 1e300:
        return NO_TIME
    if format == "s" or (format == "auto" and abs(number) < 1e11):
        number *= 1000
    return _in_calendar(round(number))


def _since_epoch(moment):
    return _in_calendar((moment - EPOCH) // MILLISECOND)


def _in_calendar(milliseconds):
    """`datetime` has the years 1 to 9999."""
    try:
        EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return NO_TIME
    return milliseconds
