"""What the engine answers, typed."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from clients.times import Interval
from clients.transport import Message


def known_fields(cls: type[Any], reply: Message) -> Message:
    """The fields of a reply that the class names; an engine of another version may have others."""
    names = {each.name for each in fields(cls)} - {"raw"}
    return {name: reply[name] for name in names & reply.keys()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An estimate: the truth lies in `lower..upper` with probability `confidence`."""

    value: Any = None
    lower: Any = None
    upper: Any = None
    confidence: float | None = None
    tuples: int | None = None  # how many tuples the synopsis had seen
    missed: int | None = None  # tuples it did not see, because its plug-in was quarantined
    batch: int | None = None  # the micro-batch that answered
    window: Interval | None = None  # the time it covers, of a windowed synopsis
    number: int | None = None  # of a watch: 1, 2, 3, ...; some may be missing, none comes twice
    holds: bool | None = None  # of a watch with a condition: whether it is true
    key: str | None = None  # of a watch for each key: which one
    stream: str | None = None  # which one, at scope "stream"
    missing: dict[str, str] = field(default_factory=dict)  # sites that are not in it, and why
    digest: str | None = None  # of the state: equal digests, equal states
    raw: Message = field(repr=False)  # the whole reply

    @classmethod
    def of(cls, reply: Message) -> Answer:
        known = {**known_fields(cls, reply), "window": _interval(reply.get("window"))}
        return cls(**known, raw=reply)


@dataclass(frozen=True, slots=True, kw_only=True)
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
    tuples: int | None = None
    streams: int | None = None
    bytes: int | None = None
    digest: str | None = None  # of the state: equal digests, equal states
    raw: Message = field(repr=False)

    @classmethod
    def of(cls, reply: Message) -> Description:
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


def _interval(window: Any) -> Interval | None:
    is_complete = isinstance(window, dict) and {"start", "end"} <= window.keys()
    return Interval(window["start"], window["end"]) if is_complete else None
