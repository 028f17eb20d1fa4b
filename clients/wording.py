"""Values as people read them: numbers, sizes, times, and the parts of a definition."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from clients.times import CountInterval, Interval
from clients.tuples import milliseconds
from sde.wire.durations import moment_text


def shown(value: Any) -> str:
    """A value for people: long numbers in groups, no needless digits.

    >>> shown(1234567), shown(0.0012), shown(12345.678), shown(None), shown([1, 2])
    ('1,234,567', '0.0012', '12,345.68', '', '[1,2]')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return moment_text(milliseconds(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return orjson.dumps(value).decode()
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    return f"{value:,.2f}" if 1000 <= abs(value) < 1e15 else f"{value:.6g}"


def time_text(ms: Any) -> str | None:
    """A time in the form the commands take.

    >>> time_text(1_704_110_400_000), time_text(1_500)
    ('2024-01-01T12:00:00Z', '1970-01-01T00:00:01.500Z')
    """
    is_time = isinstance(ms, int) and not isinstance(ms, bool)
    return moment_text(ms) if is_time else None if ms is None else str(ms)


def edges(window: Interval) -> list[str]:
    """Where a window begins and ends, as people read it.

    >>> edges(Interval(0, 60_000)), edges(CountInterval(0, 1_000))
    (['1970-01-01T00:00:00Z', '1970-01-01T00:01:00Z'], ['tuple 0', 'tuple 1,000'])
    """
    if isinstance(window, CountInterval):
        return [f"tuple {number:,}" for number in window]
    return [str(time_text(moment)) for moment in window]


def scope_text(scope: str | dict[str, str]) -> str:
    """As one would write it on the command line."""
    return scope if isinstance(scope, str) else f"stream={scope['stream']}"


def window_text(window: dict[str, Any]) -> str:
    """The lengths of a window.

    >>> window_text({"type": "sliding", "size": "5m", "slide": "10s"})
    '5m / 10s'
    >>> window_text({"type": "session", "gap": "30s"}), window_text({"size": 1000})
    ('gap 30s', '1,000')
    """
    if window.get("type") == "session":
        return f"gap {window.get('gap')}"
    lengths = [window.get("size"), window.get("slide") if window.get("type") == "sliding" else None]
    return " / ".join(shown(length) for length in lengths if length is not None)


def size(count: int) -> str:
    """Bytes for people.

    >>> size(999), size(1_234), size(250_000_000)
    ('999 B', '1.23 kB', '250 MB')
    """
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 999.5:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.3g} {unit}"
