"""`python -m service.install.warm_kernels`: compile every kernel once; no batch waits for it."""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from sde.decoding import Limits, Messages, decode_tuples
from sde.decoding.avro_tables import read_framed_avro
from sde.decoding.csv_tables import read_csv
from sde.decoding.letters import Letters
from sde.decoding.protobuf_tables import read_framed_protobuf
from sde.decoding.schemas import Schema
from sde.limits import StateLimits
from sde.records.asked import Asked
from sde.records.position import Position
from sde.stages.maintain import Maintain, open_shard
from sde.storage.arena import Arena
from sde.wire import decode_request
from synopses import DFT, KINDS, LSH, Items, Streams
from synopses.by_slot import by_slot


def main() -> int:
    for number, (kind, cls) in enumerate(KINDS.items(), 1):
        started = time.monotonic()
        synopsis = cls.example()
        synopsis.add(cls.example_items(np.random.default_rng(1), 100))
        other = cls.from_bytes(synopsis.to_bytes())
        if cls.mergeable:
            other.merge(synopsis)
        seconds = time.monotonic() - started
        print(f"[{number}/{len(KINDS)}] {kind} {seconds:.1f} s", flush=True)
    _large_batches()
    _questions()
    _data_path()
    _formats()
    importlib.import_module("service.kafka.fetch")  # its kernels are compiled as they are loaded
    return 0


def _large_batches() -> None:
    """Items that are put in the order of their slots, as only those of large banks are."""
    slots = np.repeat(np.arange(100, dtype=np.int32), 20)
    by_slot(1 << 20, slots, Items.of(values=np.ones(len(slots))))


def _questions() -> None:
    """Questions about many streams at once, which have kernels of their own."""
    rng, streams, ticks = np.random.default_rng(1), 8, 40
    for kind in (DFT(interval=1, window=20, basic_window=5), LSH(window=20, basic_window=5)):
        bank = {n: np.zeros((streams, *shape), t) for n, (t, shape) in kind.layout().items()}
        times = np.repeat(1_700_000_000_000 + 1000 * np.arange(ticks), streams)
        items = Items.of(values=rng.random(streams * ticks), times=times)
        kind.add_slots(bank, np.tile(np.arange(streams, dtype=np.int32), ticks), items)
        kind.pairs(Streams([f"s{i}" for i in range(streams)], bank), threshold=0.1)


def _data_path() -> None:
    """From bytes to a shard in files, as a worker does it: enough rows to sort out their keys."""
    rows = [
        {
            "dataset": "d",
            "stream": f"s{i}",
            "values": {"k": i % 50, "v": i / 7, "t": f"t{i}", "at": "1" if i % 2 else "2023-11-14"},
        }
        for i in range(2000)
    ]
    payload = "\n".join(map(json.dumps, rows)).encode() + b"\n"
    one, zero = np.ones(1, np.int64), np.zeros(1, np.int64)
    buffer = np.frombuffer(payload, np.uint8)
    messages = Messages("t", 0, buffer, zero, one * (len(payload) - 1), zero, one)
    blocks = decode_tuples(messages, 1, Limits()).blocks
    request = {"op": "create", "dataset": "d", "kind": "count_min", "value": "v"}
    synopses: list[dict[str, object]] = [
        {"key": "k", "scope": "dataset"},
        {"key": "k", "scope": "dataset"},
        {"key": "t", "scope": "stream"},
        {"key": "v", "scope": "stream"},
        {"key": "k", "window": {"size": "1m"}},
        {"key": "k", "window": {"size": "1m", "time": "at"}},
        {"key": "k", "window": {"size": "1m", "time": "v"}},
        {"key": "k", "window": {"type": "session", "gap": "1m"}},
        {"key": "k", "scope": "stream", "window": {"size": 10}},
        {"key": ["k", "t"], "where": "abs(k) + v * 2 > 1 and t != 't1' and at < '3'"},
    ]
    sent = [{**request, "uid": f"{n}", **fields} for n, fields in enumerate(synopses)]
    sent += [{"op": "estimate", "uid": f"{n}", "query": {"key": "1"}} for n in (4, 7)]
    arrived = [
        Asked(position=Position("r", 0, n), time=0, request=decode_request(message, f"r-0-{n}"))
        for n, message in enumerate(sent)
    ]
    with tempfile.TemporaryDirectory() as folder:
        shard = open_shard(0, 1, Arena(Path(folder)), StateLimits())
        Maintain(shard, 0).on_batch(arrived, blocks)


def _formats() -> None:
    """A record of each format whose reader has kernels, with a text and a decimal number."""
    field = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    fields = [{"name": "t", "type": "string"}, {"name": "d", "type": field}]
    avro = json.dumps({"type": "record", "name": "R", "fields": fields})
    proto = 'syntax = "proto3"; message R { string t = 1; }'
    number = b"\0\0\0\0\1"
    for payload, reader in (
        (number + b"\2a\2\1", partial(read_framed_avro, schemas=lambda _: Schema("AVRO", avro))),
        (
            number + b"\0\x0a\1a",
            partial(read_framed_protobuf, schemas=lambda _: Schema("PROTOBUF", proto)),
        ),
        (b't,d\n"a ""b""",1\n', read_csv),
    ):
        one, zero = np.ones(1, np.int64), np.zeros(1, np.int64)
        buffer = np.frombuffer(payload + b"\n", np.uint8)
        messages = Messages("t", 0, buffer, zero, one * len(payload), zero, one)
        letters = Letters(messages, Limits())
        (table,) = reader(messages, zero, None, Limits(), letters)
        if len(table) != 1:
            raise RuntimeError(f"a record was refused: {letters.sorted()}")


if __name__ == "__main__":
    sys.exit(main())
