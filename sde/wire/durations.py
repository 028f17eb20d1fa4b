"""Durations on the wire: a number and a unit, as `"30s"`, `"5m"`, `"1.5h"`; times in messages."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_FORM = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*(ms|s|m|h|d)\s*")
LONGEST = 3650 * _UNITS["d"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EXPECTED = 'a duration such as "500ms", "30s", "5m", "2h" or "1d"'


def milliseconds(text: object, least: int = 1) -> int | None:
    """The duration in whole milliseconds, None if it is none, or less than `least`.

    >>> [milliseconds(text) for text in ("30s", "1.5h", "0s", "5", 5)]
    [30000, 5400000, None, None, None]
    >>> milliseconds("0s", least=0)
    0
    """
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    value = round(float(match[1]) * _UNITS[match[2]])
    return value if least <= value <= LONGEST else None


def as_text(duration: int) -> str:
    """The shortest form of a duration.

    >>> [as_text(ms) for ms in (30_000, 90_000, 3_600_000, 1_234, 0)]
    ['30s', '90s', '1h', '1234ms', '0s']
    """
    for unit in ("d", "h", "m", "s"):
        if duration % _UNITS[unit] == 0 and (duration or unit == "s"):
            return f"{duration // _UNITS[unit]}{unit}"
    return f"{duration}ms"


def moment_text(ms: int) -> str:
    """A time as people read it, and as the commands take it.

    >>> moment_text(1_704_110_400_000), moment_text(1_500), moment_text(10**15)
    ('2024-01-01T12:00:00Z', '1970-01-01T00:00:01.500Z', '1000000000000000')
    """
    try:
        moment = _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:  # beyond the years there are
        return str(ms)
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"
