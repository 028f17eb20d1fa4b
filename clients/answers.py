"""What the engine answers, typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
            tuples=told.get("tuples"),
            streams=told.get("streams"),
            bytes=told.get("bytes"),
            raw=told,
        )
