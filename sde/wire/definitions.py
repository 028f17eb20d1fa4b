"""Definitions: what a synopsis summarises and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from sde.wire.durations import as_text
from sde.wire.windows import Window

DATASET_SCOPE = "dataset"
STREAM_SCOPE = "stream"


class SynopsisInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A synopsis as users and other sites are told of it; `since` is when it began, in ms."""

    dataset: str
    kind: str
    params: dict[str, Any]
    key: str | list[str] = ""
    value: str | list[str] = ""
    where: str = ""
    scope: str | dict[str, str]
    window: dict[str, int | str] | None = None
    time: str = ""
    idle: str = ""
    since: int


@dataclass(frozen=True, slots=True)
class Definition:
    """What a synopsis summarises and how; equal definitions are the same synopsis."""

    dataset: str
    kind: str
    params: dict[str, Any] = field(default_factory=dict)
    key: str | tuple[str, ...] = ""  # the field whose values are the keys, or several; "" for none
    values: tuple[str, ...] = ()  # the fields whose values are added; () counts 1
    scope: str = DATASET_SCOPE  # or STREAM_SCOPE
    stream: str | None = None  # with STREAM_SCOPE: only this stream
    window: Window | None = None
    time: str = ""  # the field that tells when a tuple happened; "": the tuple's own time
    idle: int | None = None  # ms without a tuple after which a stream is forgotten
    where: str = ""  # the condition that is true of the tuples that count; "": all do

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields that the key is made of."""
        return self.key if isinstance(self.key, tuple) else (self.key,) if self.key else ()

    def info(self, since: int) -> SynopsisInfo:
        return SynopsisInfo(
            dataset=self.dataset,
            kind=self.kind,
            params=self.params,
            key=self.key if isinstance(self.key, str) else list(self.key),
            value=self.values[0] if len(self.values) == 1 else list(self.values) or "",
            where=self.where,
            scope=self.scope if self.stream is None else {"stream": self.stream},
            window=self.window.described() if self.window else None,
            time=self.time,
            idle=as_text(self.idle) if self.idle else "",
            since=since,
        )

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Definition:
        """The definition whose fields JSON kept, in the registry's facts or a snapshot's file."""
        window = record["window"] and Window(**record["window"])
        key = record["key"] if isinstance(record["key"], str) else tuple(record["key"])
        values = tuple(record["values"])
        return cls(**{**record, "key": key, "values": values, "window": window})
