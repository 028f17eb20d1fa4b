"""What a user would write: confluent-kafka, orjson and Apache DataSketches in a loop.

Well tuned: messages in batches, large fetches and queues, no pause when a queue was full. It keeps
nothing when it ends and answers nothing while it runs.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import fastavro
import orjson
import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition
from datasketches import count_min_sketch

from bench.throughput.layouts import AVRO_SCHEMA
from bench.throughput.worker import COUNT_MIN, Job, Progress

_CONFIG = {
    "group.id": "user",
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "fetch.queue.backoff.ms": 5,
    "fetch.message.max.bytes": 8 << 20,
    "queued.min.messages": 1_000_000,
    "queued.max.messages.kbytes": 256 << 10,
}
_AT_ONCE = {"lines": 20, "arrow": 2}  # messages; of others:
_MOST_AT_ONCE = 10_000


class Sketches(dict[str, Any]):
    def __missing__(self, stream: str) -> Any:
        made = self[stream] = count_min_sketch(**COUNT_MIN)
        return made


def from_json(messages: list[Any], sketches: Sketches) -> int:
    loads = orjson.loads
    for message in messages:
        tuple_ = loads(message.value())
        sketches[tuple_["stream"]].update(tuple_["values"]["trader"])
    return len(messages)


def from_trades(messages: list[Any], sketches: Sketches) -> int:
    loads = orjson.loads
    for message in messages:
        trade = loads(message.value())
        if trade["venue"] == "X" and trade["qty"] > 0:
            sketches[trade["symbol"]].update(trade["trader"]["id"])
    return len(messages)


def from_avro(messages: list[Any], sketches: Sketches) -> int:
    read, schema = fastavro.schemaless_reader, fastavro.parse_schema(json.loads(AVRO_SCHEMA))
    for message in messages:
        trade = read(io.BytesIO(message.value()), schema)
        sketches[trade["symbol"]].update(trade["trader"])
    return len(messages)


def from_lines(messages: list[Any], sketches: Sketches) -> int:
    loads, count = orjson.loads, 0
    for message in messages:
        lines = message.value().split(b"\n")
        for line in lines:
            tuple_ = loads(line)
            sketches[tuple_["stream"]].update(tuple_["values"]["trader"])
        count += len(lines)
    return count


def from_frames(messages: list[Any], sketches: Sketches) -> int:
    count = 0
    for streams, traders in _columns(messages):
        for stream, trader in zip(streams.to_pylist(), traders.to_pylist(), strict=True):
            sketches[stream].update(trader)
        count += len(streams)
    return count


def json_into_one(messages: list[Any], sketches: Sketches) -> int:
    loads, update = orjson.loads, sketches[""].update
    for message in messages:
        update(loads(message.value())["values"]["trader"])
    return len(messages)


def lines_into_one(messages: list[Any], sketches: Sketches) -> int:
    loads, update, count = orjson.loads, sketches[""].update, 0
    for message in messages:
        lines = message.value().split(b"\n")
        for line in lines:
            update(loads(line)["values"]["trader"])
        count += len(lines)
    return count


def frames_into_one(messages: list[Any], sketches: Sketches) -> int:
    update, count = sketches[""].update, 0
    for streams, traders in _columns(messages):
        for trader in traders.to_pylist():
            update(trader)
        count += len(streams)
    return count


def _columns(messages: list[Any]) -> Iterator[tuple[Any, Any]]:
    for message in messages:
        table = pa.ipc.open_stream(message.value()).read_all()
        yield table["stream"].cast(pa.string()), table["trader"].cast(pa.string())


_WAYS: dict[tuple[str, str], Callable[[list[Any], Sketches], int]] = {
    ("json", "stream"): from_json,
    ("trades", "stream"): from_trades,
    ("avro", "stream"): from_avro,
    ("lines", "stream"): from_lines,
    ("arrow", "stream"): from_frames,
    ("json", "dataset"): json_into_one,
    ("lines", "dataset"): lines_into_one,
    ("arrow", "dataset"): frames_into_one,
}


def main() -> None:
    job = Job.from_arguments()
    count, sketches, progress = _WAYS[job.form, job.scope], Sketches(), Progress()
    consumer = Consumer({**job.kafka, **_CONFIG})
    consumer.assign([TopicPartition(job.topic, partition, 0) for partition in job.ends])
    left = sum(job.ends.values())
    while left:
        # Never more than there is: it would wait for messages that do not come.
        messages = consumer.consume(min(left, _AT_ONCE.get(job.form, _MOST_AT_ONCE)), 1.0)
        if messages:
            progress.add(count(messages, sketches))
            left -= len(messages)
    consumer.close()
    progress.print()


if __name__ == "__main__":
    main()
