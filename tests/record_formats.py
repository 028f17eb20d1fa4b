"""The same tuples in each format that a source can read, and in our own envelope.

A tuple here has `stream`, perhaps a `time` in ms, and `values`: texts, numbers and truth values
by name, None for one that is missing.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa
from google.protobuf.message_factory import GetMessageClass

from bench.fuzzing.avro_records import written
from sde.decoding.protobuf_schema import load_schema, message_at
from sde.decoding.schemas import Schema
from synopses.hashing import key_text

DATASET = "d"
TOGETHER = 16  # tuples in a message, of formats that have several
TYPES = {"k": "text", "n": "integer", "flag": "truth"} | dict.fromkeys("vxyz", "number")
_STREAMS = ["AAPL", "Ωmega", "7", "東京 1"]
_KEYS = [f"κλειδί {i}" for i in range(12)] + ['a "b", c', "", "true", "-1.50", "😀", "a;b", " "]


def some_tuples(count: int, latest: int) -> list[dict[str, Any]]:
    """Random tuples, the same ones for a count; their times are not in order."""
    rng = Random(count)

    def number() -> float:
        return rng.choice((rng.gauss(0, 1e3), abs(rng.gauss(9, 3)), rng.randint(-9, 60), 1e-7 / 3))

    made = []
    for i in range(count):
        values = {"k": rng.choice(_KEYS), "n": rng.randint(-9, 9), "flag": rng.random() < 0.5}
        values |= {name: number() for name in "vxyz"}
        if i % 11 == 0:
            values["n"] = rng.choice((-1, 1)) * rng.randint(2**53, 2**63 - 1)
        values = {name: None if rng.random() < 0.1 else value for name, value in values.items()}
        time = latest - 300 * (count - i) + rng.randint(-2_000, 0)
        stream = rng.choice(_STREAMS)
        made.append({"stream": stream, "time": None if i % 13 == 0 else time, "values": values})
    return made


@dataclass(frozen=True)
class Format:
    """`messages` writes tuples; `mapping` reads them again.

    `together`: how many are in a message; `first_line`: that of the first, in each message.
    """

    messages: Callable[[list[dict[str, Any]]], list[bytes]]
    mapping: dict[str, Any]
    together: int = 1
    first_line: int = 0
    schemas: dict[int, Schema] = field(default_factory=dict)

    def in_our_envelope(self, tuples: list[dict[str, Any]]) -> list[bytes]:
        """In as many messages, each tuple on the same line: a record is known by its place."""
        lines = [json.dumps({"dataset": DATASET, **_without_none(one)}) for one in tuples]
        groups = ("\n".join(part) for part in _parts(lines, self.together))
        return [b"\n" * self.first_line + group.encode() for group in groups]


def _parts(items: list[Any], size: int) -> list[list[Any]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _without_none(one: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if value is not None}


def _flat(one: dict[str, Any]) -> dict[str, Any]:
    return {"stream": one["stream"], "time": one["time"], **one["values"]}


def _iso(time: int) -> str:
    return datetime.fromtimestamp(time / 1000, UTC).isoformat(timespec="milliseconds")


# -- texts ----------------------------------------------------------------------------------------


def _json(tuples: list[dict[str, Any]]) -> list[bytes]:
    """Nested, and the time in seconds."""
    records = [
        {
            "of": {"stream": one["stream"]},
            "time": None if one["time"] is None else one["time"] / 1000,
            "row": _without_none(one["values"]),
        }
        for one in tuples
    ]
    return [json.dumps(record, ensure_ascii=False).encode() for record in records]


def _lines(tuples: list[dict[str, Any]]) -> list[bytes]:
    lines = [json.dumps(_flat(one)).encode() for one in tuples]
    return [b"\r\n".join(part) + b"\n" for part in _parts(lines, TOGETHER)]


def _csv_cell(value: Any) -> str:
    """All is text in CSV: a number has to be written in its shortest form to be the same key."""
    if value is None:
        return ""
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else key_text(value)


def _csv(tuples: list[dict[str, Any]], delimiter: str, header: bool) -> list[bytes]:
    rows = []
    for one in tuples:
        time = None if one["time"] is None else _iso(one["time"])
        rows.append(delimiter.join(map(_csv_cell, {**_flat(one), "time": time}.values())))
    names = [delimiter.join(("stream", "time", *TYPES))] if header else []
    return ["\r\n".join([*names, *part]).encode() for part in _parts(rows, TOGETHER)]


# -- Arrow, Avro, Protobuf ------------------------------------------------------------------------

_ARROW = {
    "text": pa.dictionary(pa.int8(), pa.string()),
    "integer": pa.int64(),
    "number": pa.float64(),
    "truth": pa.bool_(),
}
_AVRO = {"text": "string", "integer": "long", "number": "double", "truth": "boolean"}
_PROTOBUF = {"text": "string", "integer": "int64", "number": "double", "truth": "bool"}
_NUMBER = 7  # of the schema


def _arrow(tuples: list[dict[str, Any]]) -> list[bytes]:
    of_row = pa.struct([(name, _ARROW[kind]) for name, kind in TYPES.items() if kind != "text"])
    schema = pa.schema(
        {"stream": pa.string(), "time": pa.timestamp("us"), "k": _ARROW["text"], "row": of_row}
    )
    messages = []
    for part in _parts(tuples, TOGETHER):
        columns = {
            "stream": [one["stream"] for one in part],
            "time": [None if one["time"] is None else 1000 * one["time"] for one in part],
            "k": [one["values"]["k"] for one in part],
            "row": [{n: v for n, v in one["values"].items() if n != "k"} for one in part],
        }
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_table(pa.table(columns, schema))
        messages.append(sink.getvalue().to_pybytes())
    return messages


_TIME = {"type": "long", "logicalType": "timestamp-micros"}
_ROW = {
    "type": "record",
    "name": "Row",
    "fields": [
        {"name": "stream", "type": "string"},
        {"name": "time", "type": ["null", _TIME]},
        *({"name": name, "type": ["null", _AVRO[kind]]} for name, kind in TYPES.items()),
    ],
}
_ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", _ROW]},
        {"name": "after", "type": ["null", "Row"]},
        {"name": "op", "type": "string"},
    ],
}
_PROTO = 'syntax = "proto3"; message Other { int32 n = 1; } message Tuple {' + (
    "Of of = 1; optional int64 time = 2; message Of { string stream = 1; }"
    + " ".join(
        f"optional {_PROTOBUF[kind]} {name} = {number};"
        for number, (name, kind) in enumerate(TYPES.items(), 3)
    )
    + "}"
)


def _avro_row(one: dict[str, Any]) -> dict[str, Any]:
    return {**_flat(one), "time": None if one["time"] is None else 1000 * one["time"]}


def _framed(records: list[bytes], prefix: bytes = b"") -> list[bytes]:
    return [b"\0" + _NUMBER.to_bytes(4, "big") + prefix + record for record in records]


def _avro(tuples: list[dict[str, Any]]) -> list[bytes]:
    return [written(_ROW, _avro_row(one)) for one in tuples]


def _protobuf(tuples: list[dict[str, Any]]) -> list[bytes]:
    second = GetMessageClass(message_at(load_schema(Schema("PROTOBUF", _PROTO)), [1]))
    records = []
    for one in tuples:
        given = _without_none({**_flat(one), "stream": None})
        records.append(second(of={"stream": one["stream"]}, **given).SerializeToString())
    return _framed(records, b"\x02\x02")  # the second message of the schema


# -- changes of a table ---------------------------------------------------------------------------


def _change(i: int, row: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    op = "cru"[i % 3]
    return {"before": before if op == "u" else None, "after": row, "op": op}


def _debezium(tuples: list[dict[str, Any]]) -> list[bytes]:
    """In JSON, with and without a schema around; times in microseconds, as most databases do."""
    rows = [_avro_row(one) for one in tuples]
    changes = [_change(i, row, rows[i - 1]) for i, row in enumerate(rows)]
    wrapped = [{"schema": {}, "payload": c} if i % 5 else c for i, c in enumerate(changes)]
    return [json.dumps(change).encode() for change in wrapped]


def _debezium_avro(tuples: list[dict[str, Any]]) -> list[bytes]:
    rows = [_avro_row(one) for one in tuples]
    changes = [_change(i, row, rows[i - 1]) for i, row in enumerate(rows)]
    return _framed([written(_ENVELOPE, change) for change in changes])


def _mapping(format: str, **others: Any) -> dict[str, Any]:
    return {"format": format, "dataset": DATASET, "stream": "stream", "time": "time", **others}


_OF_ROW = {name: f"row.{name}" for name in TYPES}
_ROW_SCHEMA, _ENVELOPE_SCHEMA = json.dumps(_ROW), json.dumps(_ENVELOPE)
FORMATS = {
    "json": Format(_json, _mapping("json", stream="of.stream", fields=_OF_ROW)),
    "lines": Format(_lines, _mapping("lines"), TOGETHER),
    "csv with names": Format(
        partial(_csv, delimiter=",", header=True), _mapping("csv"), TOGETHER, first_line=1
    ),
    "csv without names": Format(
        partial(_csv, delimiter=";", header=False),
        _mapping("csv", columns=["stream", "time", *TYPES], delimiter=";"),
        TOGETHER,
    ),
    "arrow": Format(_arrow, _mapping("arrow", fields={**_OF_ROW, "k": "k"}), TOGETHER),
    "avro of one schema": Format(_avro, _mapping("avro", schema=_ROW_SCHEMA)),
    "avro in frames": Format(
        lambda tuples: _framed(_avro(tuples)),
        _mapping("avro"),
        schemas={_NUMBER: Schema("AVRO", _ROW_SCHEMA)},
    ),
    "protobuf": Format(
        _protobuf,
        _mapping("protobuf", stream="of.stream"),
        schemas={_NUMBER: Schema("PROTOBUF", _PROTO)},
    ),
    "debezium in json": Format(_debezium, _mapping("json", time="time / 1000", changes="debezium")),
    "debezium in avro": Format(
        _debezium_avro,
        _mapping("avro", changes="debezium"),
        schemas={_NUMBER: Schema("AVRO", _ENVELOPE_SCHEMA)},
    ),
}
