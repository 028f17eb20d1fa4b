"""What the engine tells of synopses, streams, watches, sites and snapshots, typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clients.records import Records, html_table, known_fields, row_of
from clients.times import datetime_of
from clients.transport import Message
from clients.wording import scope_text, shown, size, window_text


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Description:
    """A synopsis as the engine knows it: its definition and its figures."""

    uid: str = ""
    dataset: str = ""
    kind: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    key: str | list[str] | None = None
    value: str | list[str] | None = None
    where: str | None = None
    scope: str | dict[str, str] = "dataset"
    window: dict[str, Any] | None = None
    time: str | None = None
    idle: str | None = None
    since: int | None = None  # when it was created: milliseconds since 1970
    state: str | None = None  # "quarantined", of a plug-in that misbehaved
    tuples: int | None = None
    skipped: int | None = None  # tuples without a field that the kind reads
    excluded: int | None = None  # tuples that `where` is not true of
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
