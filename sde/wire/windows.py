"""Windows of a synopsis: as a message says them, and as the engine works with them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, structs

from sde.wire.durations import EXPECTED as A_DURATION
from sde.wire.durations import as_text, milliseconds
from sde.wire.forms import Duration, Expected, Name, refuse, refuse_unknown

TUMBLING, SLIDING, SESSION = "tumbling", "sliding", "session"
WINDOW_TYPES = (TUMBLING, SLIDING, SESSION)
ARRIVAL = "arrival"
_DEFAULT_SKEW = 3_600_000
_DEFAULT_LATENESS = (5_000, 30_000)  # at least, at most; between them, the size
_MOST_TUPLES = 10**9

Length = Annotated[int | float | str, Expected(A_DURATION)]
_TIMED = ("time", "format", "lateness", "skew", "keep")  # fields of all windows by time
_FIELDS = {  # that a window of each type may have beside `type`
    TUMBLING: ("size", *_TIMED),
    SLIDING: ("size", "slide", *_TIMED),
    SESSION: ("gap", *_TIMED),
}


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
        return (self.size + self.keep + self.lateness) // self.pane + 2

    @property
    def clock(self) -> str:
        """Windows of a data set with the same clock see time pass together."""
        return f"{self.time}|{self.format}|{self.skew}"

    def described(self) -> dict[str, int | str]:
        """What `describe` and the reply to a create say of it."""
        length = (lambda n: n) if self.count else as_text
        fields: dict[str, Any] = {"type": self.type}
        for name in ("size", "slide", "gap", "keep"):
            if getattr(self, name):
                fields[name] = length(getattr(self, name))
        if not self.count:
            fields |= {"time": self.time or "time", "lateness": as_text(self.lateness)}
        return fields


def interval_fields(interval: tuple[int, int], by_count: bool = False) -> dict[str, int | str]:
    """A window as an answer tells it: in milliseconds, or in numbers of tuples."""
    start, end = interval
    return {"start": start, "end": end, **({"unit": "tuples"} if by_count else {})}


@dataclass(frozen=True, slots=True)
class Span:
    """The part of a window's history a question is about, in milliseconds.

    Without a start, the window that ends at `end` is meant.
    """

    end: int
    start: int | None = None


class WindowMessage(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A window as a `create` says it."""

    type: Annotated[
        Literal["tumbling", "sliding", "session"],
        Expected("one of tumbling, sliding, session"),
        Meta(description="how windows follow each other"),
    ] = "tumbling"
    size: Annotated[
        Length | None,
        Meta(description="a duration; or a number: a window by count, of one stream or of each"),
    ] = None
    slide: Annotated[
        Length | None, Meta(description="of sliding windows: how far two of them are apart")
    ] = None
    gap: Annotated[Duration | None, Meta(description="of sessions: the pause that ends one")] = None
    time: Annotated[
        Name | None,
        Meta(
            description="the field that tells the time; left out: the tuple's own `time`; "
            "`arrival`: when Kafka got it"
        ),
    ] = None
    format: Annotated[
        Literal["auto", "s", "ms", "iso", "infore"],
        Expected("one of auto, s, ms, iso, infore"),
        Meta(description="of that field: seconds, milliseconds, ISO 8601, MM/dd/yyyy HH:mm:ss"),
    ] = "auto"
    lateness: Annotated[
        Duration | None,
        Meta(
            description="how far a tuple may be behind its data set's clock; later ones drop "
            "(the size or the gap, from 5s to 30s)"
        ),
    ] = None
    skew: Annotated[
        Duration | None,
        Meta(description="how far a tuple's time may be ahead of its arrival (1h)"),
    ] = None
    keep: Annotated[
        Length | None,
        Meta(description="how long a window can be asked for after it closed (its size)"),
    ] = None

    def window(self) -> Window:
        """The window that is meant; Refusal if there is none."""
        if self.type != SESSION and isinstance(self.size, int | float):
            return self._by_count()
        self._refuse_other_than(_FIELDS[self.type])
        timed = Window(
            self.type,
            time="" if self.time in (None, "time") else str(self.time),
            format=self.format,
            lateness=self._duration("lateness", 0, least=0),
            skew=self._duration("skew", _DEFAULT_SKEW),
        )
        if self.type == SESSION:
            gap = self._duration("gap")
            return replace(timed, gap=gap, keep=self._duration("keep", 10 * gap))
        size = self._duration("size")
        slide = size if self.type == TUMBLING else self._duration("slide")
        self._check_slide(slide, size)
        return replace(timed, size=size, slide=slide, keep=self._duration("keep", size))

    def with_lateness(self) -> WindowMessage:
        """With the default lateness if it says none. A log of an earlier version, where the default
        was 0, has windows without."""
        window = self.window()
        if self.lateness is not None or window.count:
            return self
        least, most = _DEFAULT_LATENESS
        lateness = max(least, min(window.size or window.gap, most))
        return structs.replace(self, lateness=as_text(lateness))

    def _by_count(self) -> Window:
        slides = ("slide",) if self.type == SLIDING else ()
        self._refuse_other_than(("size", "keep", *slides))
        size = self._tuples("size")
        slide = self._tuples("slide") if slides else size
        self._check_slide(slide, size)
        return Window(self.type, size, slide, count=True, keep=self._tuples("keep", size))

    def _refuse_other_than(self, names: tuple[str, ...]) -> None:
        for name, default in _DEFAULTS.items():
            if name not in names and getattr(self, name) != default:
                refuse_unknown(f"window.{name}", ["type", *names])

    def _duration(self, name: str, default: int | None = None, least: int = 1) -> int:
        value = getattr(self, name)
        if value is None and default is not None:
            return default
        found = milliseconds(value, least)
        if found is None:
            refuse(f"window.{name}", value, A_DURATION)
        return found

    def _tuples(self, name: str, default: int | None = None) -> int:
        value = getattr(self, name)
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or not 0 < value <= _MOST_TUPLES:
            refuse(f"window.{name}", value, f"a whole number of tuples from 1 to {_MOST_TUPLES}")
        return value

    def _check_slide(self, slide: int, size: int) -> None:
        if slide > size:
            expected = "at most the size: between two windows tuples would be lost"
            refuse("window.slide", self.slide, expected)


_DEFAULTS = {f.name: f.default for f in structs.fields(WindowMessage) if f.name != "type"}
