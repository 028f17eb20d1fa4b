"""Windows of a synopsis, and the part of its history that a question is about."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sde.wire.durations import as_text
from sde.wire.fields import Fields

TUMBLING, SLIDING, SESSION = TYPES = ("tumbling", "sliding", "session")
ARRIVAL = "arrival"
TIME_FORMATS = ("auto", "s", "ms", "iso", "infore")
_DEFAULT_SKEW = 3_600_000
_MOST_TUPLES = 10**9


@dataclass(frozen=True, slots=True)
class Window:
    """Lengths are milliseconds, or tuples where `count` says so."""

    type: str
    size: int = 0  # of a session: 0
    slide: int = 0  # how far two windows are apart; of tumbling ones: size
    gap: int = 0  # of sessions
    count: bool = False
    time: str = ""  # the field that tells the time; "": the tuple's own; ARRIVAL: when it came
    format: str = "auto"  # of that field
    lateness: int = 0  # how far a tuple may be behind the data set's clock
    skew: int = _DEFAULT_SKEW  # how far a tuple's time may be ahead of its arrival
    keep: int = 0  # how long a window that has closed can be asked for

    @property
    def pane(self) -> int:
        """Windows are made of panes of this length."""
        return self.gap or math.gcd(self.size, self.slide)

    @property
    def panes(self) -> int:
        """How many panes are kept at most while time passes evenly."""
        kept = self.size + self.keep + self.lateness
        return kept // self.pane + 2

    @property
    def clock(self) -> str:
        """Windows of a data set with the same clock see time pass together."""
        return f"{self.time}|{self.format}|{self.skew}"

    def as_json(self) -> dict[str, Any]:
        length = (lambda n: n) if self.count else as_text
        told: dict[str, Any] = {"type": self.type}
        for name in ("size", "slide", "gap", "keep"):
            if getattr(self, name):
                told[name] = length(getattr(self, name))
        if not self.count:
            told |= {"time": self.time or "time", "lateness": as_text(self.lateness)}
        return told


@dataclass(frozen=True, slots=True)
class Span:
    """Milliseconds; without a start the window that ends at `end` is meant."""

    end: int
    start: int | None = None


def read_window(fields: Fields, name: str) -> Window | None:
    if not fields.has(name):
        return None
    given = fields.nested(name)
    window = _sized(given)
    given.refuse_unknown(also=())
    return window


def _sized(given: Fields) -> Window:
    kind = given.choice("type", TYPES)
    count = given.number_or_none("size")
    if count is not None and kind != SESSION:
        return _by_count(given, kind, count)
    time = given.text("time", default="time")
    times: dict[str, Any] = {
        "time": "" if time == "time" else time,
        "format": given.choice("format", TIME_FORMATS),
        "lateness": given.duration("lateness", default=0),
        "skew": given.duration("skew", default=_DEFAULT_SKEW),
    }
    if kind == SESSION:
        gap = given.duration("gap")
        return Window(SESSION, gap=gap, keep=given.duration("keep", default=10 * gap), **times)
    size = given.duration("size")
    slide = _slide(given, kind, size, given.duration)
    return Window(kind, size, slide, keep=given.duration("keep", default=size), **times)


def _by_count(given: Fields, kind: str, size: int | float) -> Window:
    def tuples(name: str, default: int | None = None) -> int:
        value = given.number_or_none(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or not 0 < value <= _MOST_TUPLES:
            given.refuse(name, f"a whole number of tuples from 1 to {_MOST_TUPLES}")
        return value

    size = tuples("size")
    slide = _slide(given, kind, size, tuples)
    return Window(kind, size, slide, count=True, keep=tuples("keep", default=size))


def _slide(given: Fields, kind: str, size: int, length: Any) -> int:
    if kind == TUMBLING:
        return size
    slide: int = length("slide")
    if slide > size:
        given.refuse("slide", "at most the size: between two windows tuples would be lost")
    return slide
