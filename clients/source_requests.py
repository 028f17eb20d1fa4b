"""What a client asks an engine about sources: topics of others, read as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, Unpack

from clients.connection import Connection
from clients.errors import BadInput
from clients.pending import Pending
from clients.records import Records, known_fields
from clients.times import Moment, moment
from clients.transport import Message
from clients.waiting import waiting
from sde import wire
from sde.wire.nearest import nearest

Start = Moment | Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInfo:
    """A source that is read, and its mapping.

    `dead_letters`: how many of its records became some, since it has its mapping. `warnings`: that
    its topic is not there, if so.
    """

    name: str = ""
    topic: str = ""
    format: str = "json"
    dataset: str | None = None
    stream: str | None = None
    time: str | None = None
    fields: dict[str, str] | None = None
    where: str | None = None
    each: str | None = None
    columns: list[str] | None = None
    delimiter: str = ","
    schema: str | None = field(default=None, repr=False)
    changes: str | None = None
    dead_letters: int = 0
    warnings: list[str] = field(default_factory=list)
    raw: Message = field(repr=False)

    @classmethod
    def of(cls, reply: Message) -> SourceInfo:
        return cls(**known_fields(cls, reply), raw=reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePreview:
    """What a mapping makes of the last records of its topic."""

    messages: int = 0  # that were looked at
    tuples: list[dict[str, Any]] = field(default_factory=list)
    dead_letters: list[dict[str, Any]] = field(default_factory=list)
    raw: Message = field(repr=False)

    @classmethod
    def of(cls, reply: Message) -> SourcePreview:
        return cls(**known_fields(cls, reply), raw=reply)


class SourceMapping(TypedDict, total=False):
    """How a record becomes a tuple: what `add_source` and `preview_source` take.

    `stream`, `time`, `where` and the values of `fields` are expressions: a path into a record
    (`a.b[0]`), `$key`, `$headers.NAME`, arithmetic, comparisons, functions.
    """

    format: Literal["tuples", "json", "lines", "csv", "arrow", "avro", "protobuf"]
    dataset: str
    stream: str
    time: str
    fields: Mapping[str, str]
    where: str
    each: str
    columns: Sequence[str]
    delimiter: str
    schema: str
    changes: Literal["debezium"]


class SourceRequests:
    """The part of `Client` that has topics of others read."""

    _connection: Connection

    def submit_add_source(
        self,
        name: str,
        /,
        *,
        topic: str,
        start: Start | None = None,
        **mapping: Unpack[SourceMapping],
    ) -> Pending[tuple[str, ...]]:
        """Read a topic (with a `*` in its name: several) whose records are not written for us.

        `add_source("trades", topic="trades", dataset="Trades", stream="symbol", time="ts",
        fields={"trader": "trader.id", "notional": "px * qty"}, where="qty > 0")`. Without `fields`
        every value of a record is a field under its path. `start`: "latest" (if left out),
        "earliest", a time, or offsets by partition. A name that is known gets the new mapping, and
        goes on where it is unless `start` is given.

        What it returns are warnings: a topic that is not there yet will be read when it is.
        """
        request = wire.Source(name=name, topic=topic, start=_start(start), **_fields(mapping))
        return self._connection.submit(request, lambda reply: tuple(reply.get("warnings", ())))

    add_source = waiting(submit_add_source)

    def submit_preview_source(
        self, *, topic: str, limit: int = 10, **mapping: Unpack[SourceMapping]
    ) -> Pending[SourcePreview]:
        """What `add_source` would make of the last records of a topic; nothing is counted."""
        request = wire.Preview(topic=topic, limit=limit, **_fields(mapping))
        return self._connection.submit(request, lambda reply: SourcePreview.of(reply["value"]))

    preview_source = waiting(submit_preview_source)

    def submit_sources(self) -> Pending[Records[SourceInfo]]:
        """The sources that are read."""
        return self._connection.submit_list(wire.Sources(), SourceInfo)

    sources = waiting(submit_sources)

    def submit_remove_source(self, name: str, /) -> Pending[None]:
        """Read a source no more; what was counted of it stays."""
        return self._connection.submit(wire.Unsource(name=name), lambda reply: None)

    remove_source = waiting(submit_remove_source)


def _start(start: Start | None) -> Any:
    """As it is on the wire; the engine says what is wrong with it."""
    if isinstance(start, Mapping):
        return {str(partition): offset for partition, offset in start.items()}
    return None if start is None else moment(start)


def _fields(mapping: SourceMapping) -> dict[str, Any]:
    known = SourceMapping.__annotations__
    for name in mapping.keys() - known.keys():
        raise BadInput(
            f"{name}={mapping.get(name)!r}: expected only {', '.join(known)}. "
            f"{nearest(name, known)}".rstrip()
        )
    return dict(mapping)
