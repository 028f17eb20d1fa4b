"""An answer of the engine, typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from clients.plots import draw_buckets
from clients.records import Record, Records, html_table, known_fields, records_of
from clients.times import CountInterval, Interval
from clients.transport import Message
from clients.wording import edges, shown


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer:
    """An estimate: the truth lies in `lower..upper` with probability `confidence`."""

    row_names: ClassVar = ("stream", "value", "lower", "upper", "confidence", "tuples")

    value: Any = None
    lower: Any = None
    upper: Any = None
    confidence: float | None = None
    tuples: int | None = None  # how many tuples the synopsis had seen
    batch: int | None = None  # the micro-batch that answered
    window: Interval | None = None  # the time it covers, of a windowed synopsis
    number: int | None = None  # of a watch: 1, 2, 3, ...; some may be missing, none comes twice
    holds: bool | None = None  # of a watch with a condition: whether it is true
    key: str | None = None  # of a watch for each key: which one
    stream: str | None = None  # which one, at scope "stream"
    missing: dict[str, str] = field(default_factory=dict)  # sites that are not in it, and why
    digest: str | None = None  # of the state: equal digests, equal states
    details: dict[str, Any] = field(default_factory=dict)  # what else the question tells
    warnings: tuple[str, ...] = ()  # why tuples that came are not in it
    raw: Message = field(repr=False)  # the whole reply
    columns: tuple[str, ...] = field(default=(), repr=False)  # of rows, where the value is rows

    @classmethod
    def of(cls, reply: Message, columns: tuple[str, ...] = ()) -> Answer:
        converted = {
            "window": _interval(reply.get("window")),
            "warnings": tuple(reply.get("warnings", ())),
            "columns": columns,
        }
        return cls(**{**known_fields(cls, reply), **converted}, raw=reply)

    @property
    def records(self) -> Records[Record]:
        """The value as rows with names, their bounds beside them: `records[0].key`.

        Counts of buckets stand between their edges: `lower`, `upper`, `count`.
        """
        edges = self.details.get("edges")
        if edges is not None and isinstance(self.value, list):
            counted = zip(edges[:-1], edges[1:], self.value, strict=True)
            return Records(Record(lower=a, upper=b, count=n) for a, b, n in counted)
        return records_of(self.value, self.lower, self.upper, self.columns)

    def to_pandas(self) -> Any:
        """The records as a pandas DataFrame; times are datetimes.

        `attrs` of the frame has `warnings` and `window`, if there are any, as texts.
        """
        frame = self.records.to_pandas()
        if self.window is not None:
            frame.attrs["window"] = edges(self.window)
        if self.warnings:
            frame.attrs["warnings"] = [*self.warnings]
        return frame

    def to_arrow(self) -> Any:
        """The records as an Arrow table."""
        return self.records.to_arrow()

    def plot(self, column: str = "value", *, axes: Any = None) -> Any:
        """Draw the records with matplotlib: values with their bounds, or counts of buckets.

        Returns the axes; without `axes` they are those of a new figure.
        """
        buckets = self.details.get("edges")
        if buckets is not None and isinstance(self.value, list):
            return draw_buckets(buckets, self.value, axes)
        return self.records.plot(column, axes=axes)

    def as_row(self) -> dict[str, Any]:
        """The row of a list of answers: whom it is about, the value, then what has a value."""
        about = {"stream": self.stream, "key": self.key, "number": self.number}
        value = self.value if isinstance(self.value, dict) else {"value": self.value}
        rest = {
            "lower": self.lower,
            "upper": self.upper,
            "confidence": self.confidence,
            "tuples": self.tuples,
            "batch": self.batch,
            "start": self.window and (self.window.start_time or self.window.start),
            "end": self.window and (self.window.end_time or self.window.end),
            "holds": self.holds,
            "missing": self.missing,
            "digest": self.digest,
            "details": self.details,
            "warnings": [*self.warnings],
        }
        return _filled(about) | value | {n: v for n, v in _filled(rest).items() if n not in value}

    def __repr__(self) -> str:
        said = {f.name: getattr(self, f.name) for f in fields(self) if f.repr}
        words = [f"{name}={value!r}" for name, value in said.items() if value not in (None, {}, ())]
        return f"Answer({', '.join(words)})"

    def _repr_html_(self) -> str:
        records = self.records
        about = {"confidence": self.confidence, "tuples": self.tuples, "stream": self.stream}
        notes = [f"{name} {shown(value)}" for name, value in _filled(about | self.details).items()]
        if self.window is not None:
            notes.append(" to ".join(edges(self.window)))
        notes += [f"warning: {text}" for text in self.warnings]
        return html_table(records.columns, records.cells, ", ".join(notes))


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Those that have a value."""
    return {name: value for name, value in fields.items() if value not in (None, {}, [])}


def _interval(window: Any) -> Interval | None:
    is_complete = isinstance(window, dict) and {"start", "end"} <= window.keys()
    if not is_complete:
        return None
    kind = CountInterval if window.get("unit") == "tuples" else Interval
    return kind(window["start"], window["end"])
