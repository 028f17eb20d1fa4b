"""Spark adapter for sde.stages.ingest: Kafka messages in, rows for the shards out.

Decoding happens in the task that fetches a range, so raw messages never enter the JVM. There are
two sources: data, whose batches follow a target duration, and control (requests, what other sites
say, and what the engine tells itself through the union topic), never limited, so that a question
does not wait behind a million tuples.

Messages that killed earlier tries (option `passed_over`) become dead letters here: no stage sees
their bytes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec
import orjson
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from sde.records.figures import Reading, pack_figures
from sde.records.sources import ReadSource
from sde.wire import Code, Fault, dead_letter
from sde.wire.framing import pack
from sde.wire.sources import Source
from service.kafka.read_logs import topic_of
from service.kafka.retention import LostRange
from service.kafka.source import KafkaReader, ReaderOptions
from service.stages.planted_death import meet
from service.stages.rows import (
    BLOCKS,
    FIGURES,
    FILED,
    LETTERS,
    REQUESTS,
    SHARD_ROW,
    SHARD_ROW_ARROW,
    ShardRow,
    batch_id,
    record_batch,
    spread_keys,
)

if TYPE_CHECKING:
    from sde.decoding import Messages
    from sde.decoding.schemas import Schemas
    from sde.records.arrived import Arrived
    from sde.stages.ingest import Ingest
    from sde.tuples.block import Block
    from service.kafka.fetch import FetchOptions

_PASSED_OVER = Fault(
    Code.PASSED_OVER, "the process that handled this message died each time; it was left out"
)


class _IngestReader(KafkaReader):
    def __init__(self, options: ReaderOptions, given: Mapping[str, str]) -> None:
        super().__init__(options)
        self._shards = int(given["shards"])
        self._union, self._peers = given["union"], given["peers"]
        self._wiring, self._registry = given["wiring"], given["registry"]
        self._passed_over = {tuple(one) for one in orjson.loads(given["passed_over"])}

    @classmethod
    def with_options(cls, given: Mapping[str, str]) -> Self:
        return cls(ReaderOptions.from_json(given["reader"]), given)

    def _ingest(self) -> Ingest:
        """Imported here: the processes that only plan do not need it."""
        from sde.stages.wiring import Wiring
        from service.kafka.topics_seen import TopicsSeen

        wiring = Wiring.from_json(self._wiring)
        topics = TopicsSeen(self._options.kafka, wiring.own_topics)
        return wiring.ingest(self._schemas(), topics)

    def _schemas(self) -> Schemas | None:
        """Those of the registry, if the engine has one."""
        if not self._registry:
            return None
        from service.kafka.registry import registry_of

        return registry_of(self._registry)

    def blocks(self, messages: Messages, source: str) -> Iterator[pa.RecordBatch]:
        for part in self._handled(messages):
            meet("ingest", part.buffer.tobytes)
            yield from self.rows(part, source)
        for index in self._not_handled(messages):
            yield record_batch(self._passed(messages, index, source), SHARD_ROW_ARROW)

    @abstractmethod
    def rows(self, messages: Messages, source: str) -> Iterator[pa.RecordBatch]:
        """The record batches of messages that are to be handled."""

    def _not_handled(self, messages: Messages) -> list[int]:
        """Indexes of the messages that are passed over."""
        topic, partition = messages.topic, messages.partition
        offsets = [o for t, p, o in self._passed_over if (t, p) == (topic, partition)]
        found = [(int(messages.offsets.searchsorted(offset)), offset) for offset in sorted(offsets)]
        return [i for i, offset in found if i < len(messages) and messages.offsets[i] == offset]

    def _handled(self, messages: Messages) -> Iterator[Messages]:
        """The others, in pieces; nearly always all of them, as they are."""
        left_out = self._not_handled(messages)
        if not left_out:
            yield messages
            return
        first = 0
        for index in (*left_out, len(messages)):
            if index > first:
                yield messages.part(first, index)
            first = index + 1

    def _passed(self, messages: Messages, index: int, source: str) -> list[ShardRow]:
        """The dead letter of a message that is passed over."""
        place = (messages.topic, messages.partition, int(messages.offsets[index]))
        letter = dead_letter(*place, 0, _PASSED_OVER, messages.payload(index))
        return self._letters(messages, [letter], source)

    def _letters(
        self, messages: Messages, letters: list[dict[str, object]], source: str
    ) -> list[ShardRow]:
        """Dead letters pass through one shard; those of a source are counted in shard 0."""
        rows = [self._letters_row(messages.topic, messages.partition, letters)]
        if source:
            from sde.records.arrived import pack_arrived
            from sde.stages.ingest import refused_of

            body = pack_arrived([refused_of(_read_source(source), letters)])
            first = spread_keys(self._shards)[0]
            rows.append(rows[0]._replace(shard_key=first, what=REQUESTS, body=body))
        return rows

    def _letters_row(
        self, topic: str, partition: int, letters: list[dict[str, object]]
    ) -> ShardRow:
        offset = letters[0]["offset"]
        assert isinstance(offset, int)
        key = spread_keys(self._shards)[offset % self._shards]
        body = orjson.dumps(letters)
        return ShardRow(key, LETTERS, topic, "", partition, offset, offset + 1, body)

    def lost(self, lost: LostRange) -> Iterator[pa.RecordBatch]:
        reason = f"{lost.count} messages were deleted by the broker before they were read"
        fault = Fault(Code.OFFSETS_LOST, reason)
        letter = dead_letter(lost.topic, lost.partition, lost.first, 0, fault, b"")
        row = self._letters_row(lost.topic, lost.partition, [letter])
        figures = Reading(
            topic=topic_of(lost.topic), partition=lost.partition, newest=0, lost=lost.count
        )
        yield record_batch([row, _figures_row(row, figures)], SHARD_ROW_ARROW)


class TupleReader(_IngestReader):
    def __init__(self, options: ReaderOptions, given: Mapping[str, str]) -> None:
        super().__init__(options, given)
        self._arena, self._exchange = given["arena"], given["exchange"]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if self._exchange:
            from service.stages.exchange import Exchange

            Exchange(Path(self._exchange)).sweep(batch_id())
        yield from super().read(partition)

    def rows(self, messages: Messages, source: str) -> Iterator[pa.RecordBatch]:
        from service.stages.needs_file import NeedsFile

        wanted = NeedsFile(Path(self._arena)).read()
        decoded = self._ingest().on_data(messages, wanted, _source_of(source))
        figures = Reading(
            topic=topic_of(messages.topic),
            partition=messages.partition,
            newest=int(messages.timestamps[-1]),
            taken=list(decoded.taken),
        )
        by_shard: dict[int, list[Block]] = defaultdict(list)
        for block in decoded.blocks:
            by_shard[block.shard].append(block)
        rows: list[ShardRow] = []
        for shard, blocks in by_shard.items():  # one at a time: it may have many megabytes
            rows = [self._shard_row(shard, blocks, messages, source)]
            if shard == decoded.blocks[-1].shard:  # beside others: no shard runs for figures alone
                rows.append(_figures_row(rows[0], figures))
            yield record_batch(rows, SHARD_ROW_ARROW)
        if decoded.letters:
            letters = self._letters(messages, decoded.letters, source)
            if not rows:
                letters.append(_figures_row(letters[0], figures))
            yield record_batch(letters, SHARD_ROW_ARROW)

    def fetch_options(self, source: str) -> FetchOptions:
        mapping = _source_of(source)
        if mapping is None:
            return {}
        from sde.decoding.mapping import Mapper
        from service.kafka.topics_seen import read_beside

        return read_beside(Mapper(mapping))

    def _shard_row(
        self, shard: int, blocks: list[Block], messages: Messages, source: str
    ) -> ShardRow:
        """All blocks of some messages for a shard, in one row."""
        if self._exchange:
            from service.stages.exchange import Exchange

            exchange, batch = Exchange(Path(self._exchange)), batch_id()
            body = orjson.dumps([exchange.put(batch, block) for block in blocks])
        else:
            body = pack([block.to_bytes() for block in blocks])
        what = FILED if self._exchange else BLOCKS
        key = spread_keys(self._shards)[shard]
        first, last = int(messages.offsets[0]), int(messages.offsets[-1])
        log, partition = messages.topic, messages.partition
        return ShardRow(key, what, log, source, partition, first, last + 1, body)

    def read_again(self, row: ShardRow) -> list[Block]:
        """The blocks that a row stands for, with everything in them."""
        from service.kafka.fetch import fetch

        ingest, options, source = self._ingest(), self._options, _source_of(row.source)
        shard = spread_keys(self._shards).index(row.shard_key)
        blocks: list[Block] = []
        place = (topic_of(row.log), row.partition, row.offset, row.end)
        beside = self.fetch_options(row.source)
        for fetched in fetch(options.kafka, *place, patience=options.patience, **beside):
            for part in self._handled(replace(fetched, topic=row.log)):
                blocks += ingest.on_data(part, source=source).blocks
        return [block for block in blocks if block.shard == shard]


def _figures_row(beside: ShardRow, figures: Reading) -> ShardRow:
    """To the shard that another row goes to."""
    return beside._replace(what=FIGURES, source="", body=pack_figures(figures))


def _read_source(text: str) -> ReadSource:
    return msgspec.json.decode(text, type=ReadSource)


def _source_of(text: str) -> Source | None:
    return _read_source(text).source if text else None


class RequestReader(_IngestReader):
    def rows(self, messages: Messages, source: str) -> Iterator[pa.RecordBatch]:
        ingest = self._ingest()
        if messages.topic == self._union:
            arrived, letters = ingest.on_loop(messages)
            if letters:
                yield record_batch(self._letters(messages, letters, source), SHARD_ROW_ARROW)
        elif messages.topic == self._peers:
            arrived = ingest.on_peers(messages)
        else:
            arrived = ingest.on_requests(messages)
        if arrived:
            yield record_batch(self._shard_rows(messages, arrived), SHARD_ROW_ARROW)

    def _shard_rows(self, messages: Messages, arrived: list[Arrived]) -> list[ShardRow]:
        from sde.records.arrived import for_all_shards, pack_arrived

        first, *others = spread_keys(self._shards)
        offset, end = int(messages.offsets[0]), int(messages.offsets[-1]) + 1
        row = ShardRow(
            first,
            REQUESTS,
            messages.topic,
            "",
            messages.partition,
            offset,
            end,
            pack_arrived(arrived),
        )
        rows = [row]
        spread = [one for one in arrived if for_all_shards(one)]
        if spread:
            body = row.body if len(spread) == len(arrived) else pack_arrived(spread)
            rows += [row._replace(shard_key=key, body=body) for key in others]
        return rows

    def _passed(self, messages: Messages, index: int, source: str) -> list[ShardRow]:
        """And a reply to the request, if that is what it was."""
        rows = super()._passed(messages, index, source)
        if messages.topic not in (self._union, self._peers):
            one = messages.part(index, index + 1)
            rows += self._shard_rows(one, [self._ingest().passed_over(one, _PASSED_OVER)])
        return rows


class _IngestSource(DataSource):
    """Options: `reader` (ReaderOptions as JSON), `wiring` (sde.stages.wiring.Wiring as JSON),
    `shards`, `union`, `peers` (topics), `passed_over` (lists of topic, partition and offset, as
    JSON), `arena` (folder of this machine's), `exchange` (folder of blocks on their way, if all
    tasks share one)."""

    reader_class: type[_IngestReader]

    def schema(self) -> str:
        return SHARD_ROW

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return self.reader_class.with_options(dict(self.options))


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
