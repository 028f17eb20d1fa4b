"""Spark adapter for sde.stages.maintain: one call for each shard and micro-batch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from service.stages.rows import batch_id, spread_keys

if TYPE_CHECKING:
    import pandas as pd

    from service.stages.shard_settings import ShardSettings


class MaintainProcessor(StatefulProcessor):
    def __init__(self, settings: ShardSettings) -> None:
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._backing = SparkBacking(handle)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        # Imported here: Spark makes a processor in other processes too, only to look at it.
        from service.stages.shard_batch import run_batch

        number = spread_keys(self._settings.wiring.shards).index(key[0])
        yield run_batch(number, batch_id(), rows, self._backing, self._settings)

    def close(self) -> None:
        pass


class SparkBacking:
    """The durable form of a shard in Spark's state store; see sde.shard.keeper.Backing."""

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
        raise RuntimeError("the state store lacks a part that its head names")
    return bytes(row[0])
