"""Durations on the wire: a number and a unit, as `"30s"`, `"5m"`, `"1.5h"`."""

from __future__ import annotations

import re

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_FORM = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*(ms|s|m|h|d)\s*")
LONGEST = 3650 * _UNITS["d"]
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
