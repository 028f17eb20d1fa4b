"""Records a second from messages to tables, of formats other than JSON, on one core.

`python -m bench.decode_formats`: processor time, best of several runs; 250,000 records of 5,000
streams, in memory. What comes before the mapping of a source.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.message_factory import GetMessageClass

from bench.decode import STREAMS, TUPLES, in_frames, in_lines, messages
from bench.fuzzing.avro_records import all_written
from sde.decoding import Limits, Messages
from sde.decoding.arrow_tables import read_arrow
from sde.decoding.avro_tables import read_framed_avro
from sde.decoding.csv_tables import read_csv
from sde.decoding.debezium import envelope_paths, open_envelopes
from sde.decoding.letters import Letters
from sde.decoding.protobuf_schema import load_schema, message_at
from sde.decoding.protobuf_tables import read_framed_protobuf
from sde.decoding.schemas import Schema
from sde.decoding.table import Table

RUNS = 5
FIELDS = ("stream", "time", "StockID", "price")
TRADE = {
    "type": "record",
    "name": "Trade",
    "fields": [
        {"name": "stream", "type": "string"},
        {"name": "time", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "StockID", "type": "string"},
        {"name": "price", "type": ["null", "double"]},
    ],
}
CHANGE = {
    "type": "record",
    "name": "Change",
    "fields": [
        {"name": "before", "type": ["null", TRADE]},
        {"name": "after", "type": ["null", "Trade"]},
        {"name": "op", "type": "string"},
    ],
}
ORDER = """syntax = "proto3";
message Order { string stream = 1; int64 time = 2; string StockID = 3; optional double price = 4; }
"""
Read = Callable[[Messages, Letters], Iterable[Table]]


def formats() -> dict[str, tuple[Messages, Read]]:
    """The records of 5,000 streams, and what reads them."""
    rng, paths, limits = np.random.default_rng(1), frozenset(FIELDS), Limits()
    rows = [
        (f"S{stream:04d}", 1_700_000_000_000 + i, f"S{stream:04d}", int(cents) / 100)
        for i, (stream, cents) in enumerate(
            zip(rng.integers(0, STREAMS, TUPLES), rng.integers(10_000, 20_000, TUPLES), strict=True)
        )
    ]
    lines = [f"{stream},{at},{id_},{price}".encode() for stream, at, id_, price in rows]
    records = [dict(zip(FIELDS, row, strict=True)) for row in rows]
    changes = [{"before": None, "after": record, "op": "c"} for record in records]
    header = ",".join(FIELDS).encode() + b"\n"

    def csv(names: tuple[str, ...] | None) -> Read:
        return lambda messages, letters: read_csv(
            messages, np.arange(len(messages)), paths, limits, letters, names
        )

    def avro(schema: object, wanted: frozenset[str] | None) -> Read:
        known = Schema("AVRO", json.dumps(schema))
        return lambda messages, letters: read_framed_avro(
            messages, np.arange(len(messages)), wanted, limits, letters, lambda number: known
        )

    def protobuf(messages: Messages, letters: Letters) -> Iterator[Table]:
        known, every = Schema("PROTOBUF", ORDER), np.arange(len(messages))
        return read_framed_protobuf(messages, every, paths, limits, letters, lambda number: known)

    def debezium(messages: Messages, letters: Letters) -> Iterator[Table]:
        for table in avro(CHANGE, envelope_paths(paths))(messages, letters):
            yield open_envelopes(table, messages, letters)[0]

    def arrow(messages: Messages, letters: Letters) -> Iterator[Table]:
        return read_arrow(messages, np.arange(len(messages)), paths, limits, letters)

    def framed(schema: object, values: list[dict[str, Any]]) -> Messages:
        return messages([b"\0\0\0\0\7" + payload for payload in all_written(schema, values)])

    order = GetMessageClass(message_at(load_schema(Schema("PROTOBUF", ORDER)), [0]))
    orders = [b"\0\0\0\0\7\0" + order(**record).SerializeToString() for record in records]
    table = pa.Table.from_pylist(records)
    return {
        "Avro, one a message": (framed(TRADE, records), avro(TRADE, paths)),
        "Avro, from Debezium": (framed(CHANGE, changes), debezium),
        "Protobuf, one a message": (messages(orders), protobuf),
        "CSV, one a message": (messages(lines), csv(FIELDS)),
        "CSV, in lines": (messages([header + part for part in in_lines(lines)]), csv(None)),
        "Arrow, as records": (messages(in_frames(table)), arrow),
    }


def main() -> None:
    for name, (arrived, read) in formats().items():
        best = float("inf")
        for _ in range(RUNS):
            started = time.thread_time()
            count = sum(len(table) for table in read(arrived, Letters(arrived, Limits())))
            best = min(best, time.thread_time() - started)
        size = len(arrived.buffer) / count
        print(f"{name:23} {count / best / 1e6:6.2f} M records/s, {size:.0f} bytes each", flush=True)


if __name__ == "__main__":
    main()
