"""What the engine answers, typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clients.times import Interval
from clients.transport import Message


@dataclass(frozen=True, slots=True)
class Answer:
    """An estimate: the truth lies in `lower..upper` with probability `confidence`."""

    value: Any
    lower: Any
    upper: Any
    confidence: float | None
    tuples: int | None  # how many tuples the synopsis had seen
    batch: int | None  # the micro-batch that answered
    window: Interval | None  # what it covers, of a windowed synopsis
    number: int | None  # of a watch: 1, 2, 3, ...; some may be missing, none comes twice
    holds: bool | None  # of a watch with a condition: whether it does
    missing: dict[str, str]  # sites that are not in it, and why
    raw: Message = field(repr=False)  # the whole reply

    @classmethod
    def of(cls, reply: Message) -> Answer:
        return cls(
            value=reply.get("value"),
            lower=reply.get("lower"),
            upper=reply.get("upper"),
            confidence=reply.get("confidence"),
            tuples=reply.get("tuples"),
            batch=reply.get("batch"),
            window=_interval(reply.get("window")),
            number=reply.get("number"),
            holds=reply.get("holds"),
            missing=reply.get("missing", {}),
            raw=reply,
        )


@dataclass(frozen=True, slots=True)
class Description:
    """A synopsis as the engine knows it: its definition and what it holds."""

    uid: str
    dataset: str
    kind: str
    params: dict[str, Any]
    key: str | None
    value: str | list[str] | None
    scope: str | dict[str, str]
    window: dict[str, Any] | None
    tuples: int | None
    streams: int | None
    bytes: int | None
    raw: Message = field(repr=False)

    @classmethod
    def of(cls, told: Message) -> Description:
        return cls(
            uid=told.get("uid", ""),
            dataset=told.get("dataset", ""),
            kind=told.get("kind", ""),
            params=told.get("params", {}),
            key=told.get("key"),
            value=told.get("value"),
            scope=told.get("scope", "dataset"),
            window=told.get("window"),
            tuples=told.get("tuples"),
            streams=told.get("streams"),
            bytes=told.get("bytes"),
            raw=told,
        )


@dataclass(frozen=True, slots=True)
class SiteInfo:
    """A site the engine knows, and what went between the two."""

    site: str
    answers: bool
    received: int  # bytes from it
    sent: int  # bytes to it, as it says
    late: int  # contributions after the reply
    refused: int  # messages in its name that were not from it
    raw: Message = field(repr=False)

    @classmethod
    def of(cls, told: Message) -> SiteInfo:
        numbers = {n: told.get(n, 0) for n in ("received", "sent", "late", "refused")}
        return cls(told.get("site", ""), bool(told.get("answers")), **numbers, raw=told)


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A version of a synopsis that is kept outside the engine."""

    uid: str
    version: str
    kind: str
    dataset: str
    scope: str | dict[str, str]
    at: int | None  # when it was taken: milliseconds since 1970
    bytes: int | None
    raw: Message = field(repr=False)

    @classmethod
    def of(cls, told: Message) -> SnapshotInfo:
        return cls(
            uid=told.get("uid", ""),
            version=told.get("version", ""),
            kind=told.get("kind", ""),
            dataset=told.get("dataset", ""),
            scope=told.get("scope", "dataset"),
            at=told.get("at"),
            bytes=told.get("bytes"),
            raw=told,
        )


def _interval(told: Any) -> Interval | None:
    given = isinstance(told, dict) and {"start", "end"} <= told.keys()
    return Interval(told["start"], told["end"]) if given else None
