"""Sources: which topics are read beside the engine's own, and how a record becomes a tuple."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from msgspec import Meta, field

from sde.wire.forms import Expected, Name, moment, refuse
from sde.wire.message import Message

LATEST, EARLIEST = "latest", "earliest"
TUPLES = "tuples"  # the format whose records say themselves what they are
_NAME_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TOPIC_FORM = re.compile(r"[A-Za-z0-9._*-]{1,249}")
_LONGEST_TEXT = 4_000  # characters of an expression
_LONGEST_SCHEMA = 1 << 20
_MOST_FIELDS = 1_000
_A_NAME = "letters, digits, dots, dashes and underscores, at most 100"
_A_START = '"latest", "earliest", a time, or offsets by partition: {"0": 17}'
_FORMATS = "one of tuples, json, lines, csv, arrow, avro, protobuf"

Format = Literal["tuples", "json", "lines", "csv", "arrow", "avro", "protobuf"]
Expression = Annotated[
    str,
    Meta(min_length=1, max_length=_LONGEST_TEXT),
    Expected(f"an expression of 1 to {_LONGEST_TEXT} characters"),
]
Expressions = Annotated[
    dict[Name, Expression],
    Meta(max_length=_MOST_FIELDS),
    Expected("an object of field names with an expression each"),
]
ColumnNames = Annotated[
    list[Name], Meta(min_length=1, max_length=_MOST_FIELDS), Expected("a list of column names")
]
Schema = Annotated[str, Meta(max_length=_LONGEST_SCHEMA), Expected("an Avro schema as JSON text")]
TheSource = Annotated[Name, Meta(description="the name of the source")]


class Mapping(Message, frozen=True, kw_only=True):
    """Which records are read, and what becomes of them."""

    topic: Annotated[
        Name, Meta(description='the topic; with a `*` in it every topic whose name fits ("fx-*")')
    ]
    format: Annotated[
        Format,
        Expected(_FORMATS),
        Meta(
            description="how records are written: `json` (a message is a record), `lines` (JSON, "
            "one record a line), `csv`, `arrow` (IPC streams), `avro` and `protobuf` (in "
            "Confluent's frame, with a schema registry; `avro` also with a `schema`), or `tuples`: "
            "the forms of the data topics"
        ),
    ] = "json"
    dataset: Annotated[
        Name | None, Meta(description="the data set of all records; not with `tuples`")
    ] = None
    stream: Annotated[
        Expression | None,
        Meta(
            description="the stream of a record: a path (`symbol`, `a.b[0]`), `$key`, "
            "`$headers.NAME`, or any expression, such as the constant `'all'`"
        ),
    ] = None
    time: Annotated[
        Expression | None,
        Meta(
            description="when it happened: seconds or milliseconds since 1970, or ISO 8601; left "
            "out, or missing in a record: the message's time"
        ),
    ] = None
    fields: Annotated[
        Expressions | None,
        Meta(
            description="the fields of the tuple with an expression each; left out: every value "
            "of a record that is no object or array, under its path"
        ),
    ] = None
    where: Annotated[
        Expression | None,
        Meta(description="only records for which this is true; others are passed over"),
    ] = None
    each: Annotated[
        Name | None,
        Meta(description="the path of an array: each element is a record, with the fields beside"),
    ] = None
    columns: Annotated[
        ColumnNames | None,
        Meta(description="of `csv`: its columns; left out: each message begins with their names"),
    ] = None
    delimiter: Annotated[
        str,
        Meta(min_length=1, max_length=1, description="of `csv`"),
        Expected("one character"),
    ] = ","
    schema: Annotated[
        Schema | None,
        Meta(description="of `avro`: the one schema of records without Confluent's frame"),
    ] = None
    changes: Annotated[
        Literal["debezium"] | None,
        Expected("debezium"),
        Meta(
            description="records are changes of a table, in Debezium's envelope: `after` counts, a "
            "deleted row is taken away from linear kinds"
        ),
    ] = None

    def check(self) -> None:
        if not _TOPIC_FORM.fullmatch(self.topic):
            refuse("topic", self.topic, "the name of a topic, perhaps with `*` in it")
        self._check_format()
        if self.format == TUPLES:
            for name in ("dataset", "stream", "time", "fields", "where", "each", "changes"):
                if getattr(self, name) is not None:
                    refuse(name, getattr(self, name), 'it not with "format": "tuples"')
            return
        for name in ("dataset", "stream"):
            if getattr(self, name) is None:
                refuse(name, None, f'it with "format": "{self.format}"')

    def _check_format(self) -> None:
        if self.columns is not None and self.format != "csv":
            refuse("columns", self.columns, 'it only with "format": "csv"')
        if self.schema is not None and self.format != "avro":
            refuse("schema", self.schema, 'it only with "format": "avro"')
        if self.each is not None and self.format not in ("json", "lines"):
            refuse("each", self.each, 'it only with "format": "json" or "lines"')
        if self.changes is not None and self.each is not None:
            refuse("each", self.each, "it without `changes`")

    def reads(self, topic: str) -> bool:
        """Whether it is about a topic of this name; no pattern means one of Kafka's own."""
        if "*" not in self.topic:
            return topic == self.topic
        return fnmatchcase(topic, self.topic) and not topic.startswith("__")


class Source(Mapping, frozen=True, kw_only=True, tag="source"):
    """Read a topic, or several, as it is; of a name that is known, go on with this mapping."""

    name: TheSource
    start: Annotated[
        int | str | dict[str, int] | None,
        Expected(_A_START),
        Meta(
            description='where to begin: "latest", "earliest", a time, or offsets by partition; '
            "left out: latest, or where the source of that name is"
        ),
    ] = field(name="from", default=None)

    @property
    def begins_at(self) -> int | dict[int, int] | None:
        """A time in ms, offsets by partition, or None for "latest" and "earliest"."""
        if self.start is None or self.start in (LATEST, EARLIEST):
            return None
        if isinstance(self.start, dict):
            offsets = {int(p): offset for p, offset in self.start.items() if p.isdecimal()}
            if len(offsets) < len(self.start) or any(offset < 0 for offset in offsets.values()):
                refuse("from", self.start, _A_START)
            return offsets
        try:
            return moment("from", self.start)
        except Exception:
            refuse("from", self.start, _A_START)

    def check(self) -> None:
        super().check()
        _check_name(self.name)
        _ = self.begins_at


class Unsource(Message, frozen=True, kw_only=True, tag="unsource"):
    """Read a source no more; what was counted of it stays."""

    name: TheSource

    def check(self) -> None:
        _check_name(self.name)


class Sources(Message, frozen=True, kw_only=True, tag="sources"):
    """The sources that are read."""


class Preview(Mapping, frozen=True, kw_only=True, tag="preview"):
    """What a source would make of the last records of its topic; nothing is counted."""

    limit: Annotated[
        int, Meta(ge=1, le=100, description="how many records"), Expected("a number from 1 to 100")
    ] = 10


def _check_name(name: str) -> None:
    if not _NAME_FORM.fullmatch(name):
        refuse("name", name, _A_NAME)
