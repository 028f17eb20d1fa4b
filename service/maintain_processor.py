"""Spark adapter for sde.stages.maintain: one call for each shard and micro-batch."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pandas as pd
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from sde.arrived import Arrived
from sde.block import Block
from sde.durable import ShardKeeper, StateFormatError
from sde.framing import pack, unpack
from sde.limits import StateLimits
from sde.partial import Partial
from sde.stages.maintain import Maintain
from service.rows import BLOCK, LETTERS, PARTIALS, REQUESTS, spread_keys


class SparkBacking:
    """The durable form of a shard in Spark's state store."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", "json string")
        self._log = handle.getMapState("log", "number long", "entry binary")
        self._snapshot = handle.getMapState("snapshot", "number int", "chunk binary")

    def read_head(self) -> dict[str, object] | None:
        held = self._head.get()
        return None if held is None else json.loads(held[0])

    def write_head(self, head: dict[str, object]) -> None:
        self._head.update((json.dumps(head),))

    def read_entry(self, number: int) -> bytes:
        return _only(self._log.getValue((number,)))

    def write_entry(self, number: int, entry: bytes) -> None:
        self._log.updateValue((number,), (entry,))

    def drop_entry(self, number: int) -> None:
        self._log.removeKey((number,))

    def read_chunk(self, number: int) -> bytes:
        return _only(self._snapshot.getValue((number,)))

    def write_chunk(self, number: int, chunk: bytes) -> None:
        self._snapshot.updateValue((number,), (chunk,))

    def drop_chunk(self, number: int) -> None:
        self._snapshot.removeKey((number,))


def _only(row: tuple[Any, ...] | None) -> bytes:
    if row is None:
        raise StateFormatError("the state store lacks a part that its head names")
    return bytes(row[0])


class MaintainProcessor(StatefulProcessor):
    def __init__(
        self, arena: Path, shards: int, buckets: int, limits: StateLimits, compact_factor: float
    ) -> None:
        self._arena, self._shards, self._buckets = arena, shards, buckets
        self._limits, self._compact_factor = limits, compact_factor

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._backing = SparkBacking(handle)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        number = spread_keys(self._shards).index(key[0])
        arrived, blocks, letters = _read(rows)
        batch = _batch_id()
        keeper = ShardKeeper(
            self._arena / f"shard-{number}",
            number,
            self._shards,
            self._limits,
            self._backing,
            lambda: uuid.uuid4().hex,
            self._compact_factor,
        )
        with keeper.opened() as shard:
            stage = Maintain(shard, batch)
            partials = stage.on_batch(arrived, blocks)
            keeper.commit(stage.entry, batch)
        yield self._frame(partials, letters)

    def _frame(self, partials: list[Partial], letters: list[bytes]) -> pd.DataFrame:
        """All partials for one merging task in one row."""
        bundles: dict[int, list[bytes]] = defaultdict(list)
        for partial in partials:
            bundles[_bucket(partial.arrived.place, self._buckets)].append(partial.to_bytes())
        keys = spread_keys(self._buckets)
        rows = [(keys[bucket], PARTIALS, pack(parts)) for bucket, parts in bundles.items()]
        rows += [(keys[0], LETTERS, body) for body in letters]
        frame = pd.DataFrame(rows, columns=["bucket_key", "what", "body"])
        return frame.astype({"bucket_key": "int32"})

    def close(self) -> None:
        pass


def _read(rows: Iterator[pd.DataFrame]) -> tuple[list[Arrived], list[Block], list[bytes]]:
    """What came for a shard; requests in the order of their topic."""
    requests: list[tuple[str, int, int, bytes]] = []
    blocks, letters = [], []
    for frame in rows:
        for row in frame.itertuples(index=False):
            if row.what == BLOCK:
                blocks.append(Block.from_bytes(row.body))
            elif row.what == REQUESTS:
                requests.append((row.topic, row.partition, row.offset, row.body))
            elif row.what == LETTERS:
                letters.append(row.body)
    arrived = [
        Arrived.from_json(orjson.loads(one))
        for *_, body in sorted(requests)
        for one in unpack(body)
    ]
    return arrived, blocks, letters


def _bucket(place: str, buckets: int) -> int:
    """Requests of one partition in turn."""
    return int(place.rsplit("-", 1)[1]) % buckets


def _batch_id() -> int:
    context = TaskContext.get()
    batch = context.getLocalProperty("streaming.sql.batchId") if context else None
    return int(batch) if batch is not None else 0
