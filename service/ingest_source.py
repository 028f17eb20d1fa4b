"""Spark adapter for sde.stages.ingest: Kafka messages in, rows for the shards out.

Decoding happens in the task that fetches a range, so raw messages never enter the JVM. There are
two sources: data, whose batches follow a target duration, and control (requests, and what the
engine tells itself through the union topic), never limited, so that a question does not wait
behind a million tuples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import orjson
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader
from pyspark.sql.types import StructType

from sde.arrived import Arrived
from sde.framing import pack
from sde.messages import Code, Fault, dead_letter
from service.kafka.retention import Lost
from service.kafka.source import KafkaReader, ReaderOptions
from service.rows import (
    BLOCK,
    LETTERS,
    REQUESTS,
    ROUTED,
    ROUTED_ARROW,
    Routed,
    record_batch,
    spread_keys,
)

if TYPE_CHECKING:
    from sde.decoding import Messages
    from sde.stages.ingest import Ingest


class _IngestReader(KafkaReader):
    def __init__(self, options: ReaderOptions, given: Mapping[str, str]) -> None:
        super().__init__(options)
        self._shards = int(given["shards"])
        self._union, self._snapshots = given["union"], given["snapshots"]
        self._checkpoint = given["checkpoint"]
        self._site, self._secrets = given["site"], given["secrets"]

    def _ingest(self) -> Ingest:
        """Imported here: the processes that only plan do not need it."""
        from sde.decoding import Limits
        from sde.federation.peers import Peers
        from sde.library import Library
        from sde.stages.ingest import Ingest

        peers = Peers(self._site, orjson.loads(self._secrets), own=self._checkpoint)
        return Ingest(self._shards, Limits(), Library(self._snapshots), self._checkpoint, peers)

    def _letters(self, topic: str, partition: int, letters: list[dict[str, object]]) -> Routed:
        """Dead letters go through one shard, which counts them."""
        offset = letters[0]["offset"]
        assert isinstance(offset, int)
        key = spread_keys(self._shards)[offset % self._shards]
        return Routed(key, LETTERS, topic, partition, offset, orjson.dumps(letters))

    def lost(self, lost: Lost) -> Iterator[pa.RecordBatch]:
        reason = f"{lost.count} messages were deleted by the broker before they were read"
        fault = Fault(Code.OFFSETS_LOST, reason)
        letter = dead_letter(lost.topic, lost.partition, lost.first, 0, fault, b"")
        yield record_batch([self._letters(lost.topic, lost.partition, [letter])], ROUTED_ARROW)


class TupleReader(_IngestReader):
    def blocks(self, messages: Messages) -> Iterator[pa.RecordBatch]:
        decoded = self._ingest().on_data(messages)
        keys = spread_keys(self._shards)
        topic, partition = messages.topic, messages.partition
        rows = [
            Routed(keys[b.shard], BLOCK, topic, partition, b.base, b.to_bytes())
            for b in decoded.blocks
        ]
        if decoded.letters:
            rows.append(self._letters(topic, partition, decoded.letters))
        for row in rows:  # one at a time: a block may have many megabytes
            yield record_batch([row], ROUTED_ARROW)


class RequestReader(_IngestReader):
    def blocks(self, messages: Messages) -> Iterator[pa.RecordBatch]:
        ingest = self._ingest()
        is_loop = messages.topic == self._union
        arrived = ingest.on_loop(messages) if is_loop else ingest.on_requests(messages)
        if not arrived:
            return
        topic, partition, offset = messages.topic, messages.partition, int(messages.offsets[0])
        first, *others = spread_keys(self._shards)
        rows = [Routed(first, REQUESTS, topic, partition, offset, _bundle(arrived))]
        spread = [one for one in arrived if not one.for_one_shard]
        if spread:
            body = rows[0].body if len(spread) == len(arrived) else _bundle(spread)
            rows += [Routed(key, REQUESTS, topic, partition, offset, body) for key in others]
        yield record_batch(rows, ROUTED_ARROW)


def _bundle(arrived: list[Arrived]) -> bytes:
    return pack([orjson.dumps(one.as_json()) for one in arrived])


class _IngestSource(DataSource):
    """Options: `reader` (ReaderOptions as JSON), `shards`, `union` (topic), `snapshots`,
    `checkpoint` (its name), `site` and `secrets` (of its peers, as JSON)."""

    reader_class: type[_IngestReader]

    def schema(self) -> str:
        return ROUTED

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        options = ReaderOptions.from_json(self.options["reader"])
        return self.reader_class(options, dict(self.options))


class TupleSource(_IngestSource):
    reader_class = TupleReader

    @classmethod
    def name(cls) -> str:
        return "sde_tuples"


class RequestSource(_IngestSource):
    reader_class = RequestReader

    @classmethod
    def name(cls) -> str:
        return "sde_requests"
