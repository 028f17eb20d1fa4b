"""What the engine answers, typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar

from clients.records import Record, Records, html_table, records_of, row_of
from clients.times import Interval, datetime_of
from clients.transport import Message
from clients.wording import scope_text, shown, size, time_text, window_text


def known_fields(cls: type[Any], reply: Message) -> Message:
    """The fields of a reply that the class names; an engine of another version may have others."""
    names = {each.name for each in fields(cls)} - {"raw"}
    return {name: reply[name] for name in names & reply.keys()}


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
            frame.attrs["window"] = [time_text(moment) for moment in self.window]
        if self.warnings:
            frame.attrs["warnings"] = [*self.warnings]
        return frame

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
            "start": self.window and self.window.start_time,
            "end": self.window and self.window.end_time,
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
            notes.append(f"{shown(self.window.start_time)} to {shown(self.window.end_time)}")
        notes += [f"warning: {text}" for text in self.warnings]
        return html_table(records.columns, records.cells, ", ".join(notes))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Description:
    """A synopsis as the engine knows it: its definition and its figures."""

    uid: str = ""
    dataset: str = ""
    kind: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    key: str | None = None
    value: str | list[str] | None = None
    scope: str | dict[str, str] = "dataset"
    window: dict[str, Any] | None = None
    time: str | None = None
    idle: str | None = None
    since: int | None = None  # when it was created: milliseconds since 1970
    state: str | None = None  # "quarantined", of a plug-in that misbehaved
    tuples: int | None = None
    skipped: int | None = None  # tuples without a field that the kind reads
    shed: int | None = None  # tuples of streams beyond the limit of streams
    late_dropped: int | None = None  # tuples that came after their window was over
    future_dropped: int | None = None  # tuples whose time is too far ahead
    untimed: int | None = None  # tuples without a time that can be read
    streams: int | None = None
    bytes: int | None = None
    watermark: int | None = None  # how far the time of its data set is: milliseconds since 1970
    expires: int | None = None  # when it is deleted: milliseconds since 1970
    digest: str | None = None  # of the state: equal digests, equal states
    raw: Message = field(repr=False)

    @classmethod
    def of(cls, reply: Message) -> Description:
        return cls(**known_fields(cls, reply), raw=reply)

    def to_pandas(self) -> Any:
        """A pandas DataFrame of one row; times are datetimes."""
        return Records([self]).to_pandas()

    def _repr_html_(self) -> str:
        return html_table(["field", "value"], [[*named] for named in row_of(self).items()])

    @property
    def since_time(self) -> datetime | None:
        """`since` as a datetime in UTC."""
        return datetime_of(self.since)

    def __repr__(self) -> str:
        words = [f"{self.kind} of {self.dataset}", f"scope {scope_text(self.scope)}"]
        words += [f"window {window_text(self.window)}"] if self.window else []
        words += [f"{shown(self.tuples)} tuples"] if self.tuples is not None else []
        words += [size(self.bytes)] if self.bytes is not None else []
        words += [self.state] if self.state else []
        return f"<synopsis {self.uid}: {', '.join(words)}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamInfo:
    """A stream that has a summary of its own, and what that holds."""

    stream: str = ""
    tuples: int = 0
    skipped: int = 0  # tuples without a field that the kind reads
    bytes: int = 0
    raw: Message = field(repr=False)

    @classmethod
    def of(cls, reply: Message) -> StreamInfo:
        return cls(**known_fields(cls, reply), raw=reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchInfo:
    """A watch that runs in the engine: what it asks, when, and how far it has got."""

    watch: str = ""  # its id
    uids: list[str] = field(default_factory=list)
    query: dict[str, Any] = field(default_factory=dict)
    stream: str | None = None
    every: str | None = None
    on: str | None = None
    threshold: float | str | None = None
    when: str | None = None
    each: str | None = None
    drift: float | None = None
    sites: list[str] = field(default_factory=list)  # of a watch over several sites
    by: str | None = None  # the site that asked, of such a watch
    since: int | None = None  # when it began: milliseconds since 1970
    due: int | None = None  # when it asks next, by the clock
    number: int | None = None  # of its last answer; 0: none yet; None: windows and batches number
    holds: bool | None = None  # whether its condition was true then
    raw: Message = field(repr=False)

    @classmethod
    def of(cls, reply: Message) -> WatchInfo:
        return cls(**known_fields(cls, reply), raw=reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteInfo:
    """A site the engine knows, and how many bytes and messages went between the two."""

    site: str = ""
    answers: bool = False
    received: int = 0  # bytes from it
    sent: int = 0  # bytes to it, by its own count
    late: int = 0  # contributions after the reply
    refused: int = 0  # messages in its name that were not from it
    raw: Message = field(repr=False)

    @classmethod
    def of(cls, reply: Message) -> SiteInfo:
        return cls(**known_fields(cls, reply), raw=reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotInfo:
    """A version of a synopsis that is kept outside the engine."""

    uid: str = ""
    version: str = ""
    kind: str = ""
    dataset: str = ""
    scope: str | dict[str, str] = "dataset"
    at: int | None = None  # when it was taken: milliseconds since 1970
    bytes: int | None = None
    raw: Message = field(repr=False)

    @classmethod
    def of(cls, reply: Message) -> SnapshotInfo:
        return cls(**known_fields(cls, reply), raw=reply)

    @property
    def at_time(self) -> datetime | None:
        """`at` as a datetime in UTC."""
        return datetime_of(self.at)


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Those that have a value."""
    return {name: value for name, value in fields.items() if value not in (None, {}, [])}


def _interval(window: Any) -> Interval | None:
    is_complete = isinstance(window, dict) and {"start", "end"} <= window.keys()
    return Interval(window["start"], window["end"]) if is_complete else None
