"""Rows that pass between the stages through Spark: few and large, because each row has a cost.

A row's key decides the task that gets it. Spark places a row by the hash of its key; keys are
chosen here so that shards (and buckets of partials) spread evenly over the tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import mmh3
import pyarrow as pa
from pyspark import TaskContext

BLOCKS, FILED = "blocks", "filed"  # in the row itself, or in files that it names
REQUESTS, LETTERS, PARTIALS, REPORTS = "requests", "letters", "partials", "reports"
FIGURES = "figures"  # for operators: of ingest and maintain, only passed through to the sink

SHARD_ROW = (
    "shard_key int, what string, log string, source string, partition int, offset long, end long, "
    "body binary"
)
MERGE_ROW = "bucket_key int, what string, body binary"
KAFKA_ROW = "topic string, key string, value binary"

SHARD_ROW_ARROW = pa.schema(
    [
        ("shard_key", pa.int32()),
        ("what", pa.string()),
        ("log", pa.string()),
        ("source", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("end", pa.int64()),
        ("body", pa.binary()),
    ]
)
KAFKA_ROW_ARROW = pa.schema([("topic", pa.string()), ("key", pa.string()), ("value", pa.binary())])


class ShardRow(NamedTuple):
    """A row from ingest to a shard, made of the messages of a log's partition from `offset` to
    before `end`, read as the `source` says (a ReadSource as JSON; "": a topic of the engine's own).
    `what` says what the body is: blocks, names of block files, requests, letters or figures."""

    shard_key: int
    what: str
    log: str
    source: str
    partition: int
    offset: int
    end: int
    body: bytes


def record_batch(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    arrays = [pa.array(c, t) for c, t in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@cache
def spread_keys(count: int) -> tuple[int, ...]:
    """For each of `count` places a key whose Spark hash modulo `count` is that place.

    Spark hashes an int with MurmurHash3 x86 32, seed 42, over its four bytes.
    """
    found: dict[int, int] = {}
    key = 0
    while len(found) < count:
        place = mmh3.hash(key.to_bytes(4, "little"), seed=42) % count
        found.setdefault(place, key)
        key += 1
    return tuple(found[place] for place in range(count))


def batch_id() -> int:
    """The id of the micro-batch that this task belongs to; 0 outside of a task."""
    context = TaskContext.get()
    batch = context.getLocalProperty("streaming.sql.batchId") if context else None
    return int(batch) if batch is not None else 0
