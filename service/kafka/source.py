"""A Spark streaming source of Kafka messages, without the JVM in between.

Where the methods run (pyspark 4.3.0): Spark starts one Python process per source and running
query and makes one reader in it; `initialOffset`, `latestOffset`, `partitions`, `commit` and `stop`
are called on that one object until the query ends. So the driver side may keep state: here the
pace and the admin client. Nothing of it survives a restart of the query. `read` runs in the
executors' worker processes, on a copy of another, never used reader, pickled once per query: it
sees only what the constructor set. The workers are reused, so consumers are cached there per
process (`fetch`).

Admission control: because `latestOffset` takes (start, limit), Spark asks it before every batch
how far the batch may go, with the limit `getDefaultReadLimit` gave (or all, for triggers that
must read all). While nothing comes it is asked again and again: so the source that is asked last
waits, for a while, until something comes to one of them (`wait_seconds`). Returned offsets go into
the checkpoint before the batch runs; after a crash `partitions` gets the same range again, without
`latestOffset` being asked first. Offsets are compared as JSON text.
"""

from __future__ import annotations

import json
import logging
import os
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from service.kafka.arrivals import Arrivals
from service.kafka.config import Config
from service.kafka.ends_file import EndsFile
from service.kafka.errors import LogTooShort, OffsetsLost
from service.kafka.logs import LogEnds
from service.kafka.message_sizes import MessageSizes
from service.kafka.offsets import (
    SOURCES,
    Key,
    Offsets,
    OffsetsJson,
    admit,
    from_json,
    of_logs,
    to_json,
)
from service.kafka.pace import Pace
from service.kafka.read_logs import ReadLogs, source_of, topic_of
from service.kafka.retention import LostRange, OnLost, checked_on_lost, lost_part

if TYPE_CHECKING:
    from sde.decoding import Messages
    from service.kafka.fetch import FetchOptions

_log = logging.getLogger(__name__)
_STEERED_SECONDS = 0.02  # between two looks while files of the engine say where batches end


@dataclass(frozen=True)
class ReaderOptions:
    """Everything a reader needs; travels as one JSON text in a Spark option."""

    kafka: Config  # librdkafka settings
    topics: list[str]
    sources: str = ""  # folder with the sources that are read, too (sources_file.py)
    own_topics: tuple[str, ...] = ()  # that no pattern of a source means
    on_lost: OnLost = "stop"
    may_lose: tuple[str, ...] = ()  # topics whose deleted messages never stop the query
    stop_file: str = ""  # while this file exists no new batch is admitted
    ends_file: str = ""  # while this file exists a batch ends where it says (ends_file.py)
    target_seconds: float | None = None  # how long a batch should take; None: no limit on batches
    smallest_bytes: int = 32 << 20  # of a batch that has more waiting: a tenth of a second's work
    largest_bytes: int = 512 << 20  # of a batch: it passes through memory
    largest_messages: int = 5_000_000
    patience: float = 20.0  # of a broker's silence; then the query ends, to run again after it
    discover_seconds: float = 5.0  # how often to look for new topics and partitions
    wait_seconds: float = 0.0  # how long to wait if nothing has come, before saying so
    beside: tuple[str, ...] = ()  # topics of other sources; what comes to them ends the wait, too

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ReaderOptions:
        options = cls(**json.loads(text))
        checked_on_lost(options.on_lost)
        return options


class KafkaRange(InputPartition):
    """The range of a partition that one task reads; `lost` was deleted before its start.

    `source`: the ReadSource whose log it is, as JSON; "" for a topic of the engine's own.
    """

    def __init__(
        self,
        log: str,
        partition: int,
        start: int,
        end: int,
        lost: LostRange | None,
        source: str = "",
    ) -> None:
        self.log, self.partition = log, partition
        self.start, self.end, self.lost, self.source = start, end, lost, source


class KafkaReader(DataSourceStreamReader):
    """Reads topics; a subclass makes record batches of the messages.

    Spark calls `read` in a task, everything else in the process that plans the source.
    """

    def __init__(self, options: ReaderOptions) -> None:
        self._options = options
        self._logs = ReadLogs(
            options.kafka,
            options.topics,
            options.patience,
            options.discover_seconds,
            Path(options.sources) if options.sources else None,
            options.own_topics,
        )
        self._pace: Pace | None = None
        if options.target_seconds is not None:
            self._pace = Pace(options.target_seconds, options.smallest_bytes, options.largest_bytes)
        self._sizes = MessageSizes(options.kafka, options.patience)
        self._admitted = 0
        self._admitted_at = 0.0
        self._latest: Offsets = {}
        self._beside = LogEnds(options.kafka, options.beside, options.patience)
        self._beside_seen: deque[Offsets] = deque(maxlen=2)  # at our last two turns
        self._arrivals = Arrivals(options.kafka)

    @abstractmethod
    def blocks(self, messages: Messages, source: str) -> Iterator[pa.RecordBatch]:
        """The record batches of one chunk of a log, in its order. Runs in a task.

        `source` is the ReadSource that says how to read it, as JSON; "" for the engine's own
        topics.
        """

    def fetch_options(self, source: str) -> FetchOptions:
        """What is fetched beside the payloads of messages; by default nothing. Runs in a task."""
        return {}

    def lost(self, lost: LostRange) -> Iterator[pa.RecordBatch]:
        """The record batches that report lost offsets. Runs in a task; by default there are none.

        Called where the lost messages would have come, if `on_lost` is "continue".
        """
        return iter(())

    def initialOffset(self) -> OffsetsJson:
        return to_json(self._logs.initial())

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._pace is None:
            return ReadAllAvailable()
        return ReadMaxRows(self._options.largest_messages)

    def latestOffset(self, start: OffsetsJson, limit: ReadLimit) -> OffsetsJson:
        reached = self._reached(start, limit)
        if reached is not start:
            self._beside_seen.clear()
        elif self._options.wait_seconds:
            self._wait()
        return reached

    def _reached(self, start: OffsetsJson, limit: ReadLimit) -> OffsetsJson:
        """How far the next batch goes; `start` itself if there is none."""
        self._learn_pace()
        if self._is_held_back():
            return start
        known = from_json(start)
        sources = self._logs.sources()
        self._latest = self._logs.ends()
        dictated = self._dictated()
        if dictated is not None:
            reached = {key: max(offset, dictated.get(key, offset)) for key, offset in known.items()}
            return start if reached == known else to_json(reached)
        version = known.pop(SOURCES, 0)
        new = self._new(known, self._latest, version)
        kept = {key: at for key, at in known.items() if self._logs.is_read(key[0])}
        ends = self._readable({key: at for key, at in kept.items() if key not in new})
        reached = {
            **admit(kept, ends, self._budget(limit, kept, ends)),
            **self._logs.entered(new, version),
            **({SOURCES: sources.version} if sources.version else {}),
        }
        self._admitted = sum(reached[key] - kept[key] for key in ends)
        self._admitted_at = time.monotonic()
        return start if reached == from_json(start) else to_json(reached)

    def _wait(self) -> None:
        """Until something comes to a log; the sources are then asked again.

        Not if the other source may have told of something in this turn of asking both: it would
        wait with us. It cannot have if its logs end where they did two turns ago, because what it
        told of came after it was asked in the last one.
        """
        if self._is_steered():
            time.sleep(_STEERED_SECONDS)
            return
        beside, seen = self._beside.ends(), self._beside_seen
        is_quiet = len(seen) == seen.maxlen and seen[0] == beside
        seen.append(beside)
        if is_quiet:
            ends = {(topic_of(log), part): end for (log, part), end in self._latest.items()}
            self._arrivals.wait({**ends, **beside}, self._options.wait_seconds, self._is_steered)

    def _is_held_back(self) -> bool:
        return bool(self._options.stop_file) and os.path.exists(self._options.stop_file)

    def _is_steered(self) -> bool:
        ends_file = self._options.ends_file
        return self._is_held_back() or (bool(ends_file) and os.path.exists(ends_file))

    def _dictated(self) -> Offsets | None:
        path = self._options.ends_file
        return EndsFile(Path(path)).read() if path else None

    def reportLatestOffset(self) -> OffsetsJson | None:
        """For Spark's metrics: as `latestOffset` saw it last, so it costs no request."""
        return to_json(self._latest) if self._latest else None

    def partitions(self, start: OffsetsJson, end: OffsetsJson) -> Sequence[InputPartition]:
        begins, stops = of_logs(from_json(start)), from_json(end)
        sources = self._logs.planned_with(stops)
        wanted = {
            key: (begins[key], stop)
            for key, stop in sorted(of_logs(stops).items())
            if key in begins and begins[key] < stop
        }
        earliest = self._logs.starts(wanted)
        ranges: list[InputPartition] = []
        for (log, partition), (first, stop) in wanted.items():
            lost = lost_part(
                log, partition, first, stop, earliest[log, partition], self._on_lost(log)
            )
            read = sources.find(source_of(log))
            source = "" if read is None else msgspec.json.encode(read).decode()
            begin = lost.resumed if lost else first
            ranges.append(KafkaRange(log, partition, begin, stop, lost, source))
        return ranges

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from service.kafka.fetch import fetch

        assert isinstance(partition, KafkaRange)
        log, number, end = partition.log, partition.partition, partition.end
        position, lost = partition.start, partition.lost
        while True:
            if lost is not None:
                _log.warning("offsets lost to retention: %s", lost)
                yield from self.lost(lost)
                position = lost.resumed
            try:
                for messages in fetch(
                    self._options.kafka,
                    topic_of(log),
                    number,
                    position,
                    end,
                    patience=self._options.patience,
                    **self.fetch_options(partition.source),
                ):
                    position = int(messages.offsets[-1]) + 1
                    yield from self.blocks(replace(messages, topic=log), partition.source)
                return
            except OffsetsLost as error:  # since the batch was planned
                on_lost = self._on_lost(log)
                lost = lost_part(log, number, error.wanted, end, error.earliest, on_lost)

    def _on_lost(self, topic: str) -> OnLost:
        return "continue" if topic in self._options.may_lose else self._options.on_lost

    def _learn_pace(self) -> None:
        """Record how long the last batch took: Spark calls `latestOffset` when a batch is over."""
        if self._pace is not None and self._admitted:
            size = int(self._admitted * self._sizes.mean)
            self._pace.record(size, time.monotonic() - self._admitted_at)
        self._admitted = 0

    def _budget(self, limit: ReadLimit, known: Offsets, ends: Offsets) -> int | None:
        """How many messages the next batch may have; None for all, if the trigger reads all."""
        if self._pace is None or not isinstance(limit, ReadMaxRows):
            return None
        self._sizes.look(known, ends)
        return max(1, min(limit.max_rows, int(self._pace.budget / self._sizes.mean)))

    def _readable(self, known: Offsets) -> Offsets:
        """The ends of the partitions that can be read further. One that is gone is left out."""
        ends = {key: end for key, end in self._latest.items() if key in known}
        for (log, partition), end in list(ends.items()):
            wanted = known[log, partition]
            if end < wanted:
                if self._options.on_lost == "stop":
                    raise LogTooShort(log, partition, wanted, end)
                del ends[log, partition]
        return ends

    def _new(self, known: Offsets, latest: Offsets, version: int) -> set[Key]:
        """New partitions, those whose log was made anew, and those of sources that begin anew
        since a version. They are read from the next batch on: so the start of every range is in the
        checkpoint."""
        may_shrink = self._options.on_lost != "stop"
        return {
            key
            for key, end in latest.items()
            if key not in known
            or (end < known[key] and may_shrink)
            or self._logs.begins_anew(key[0], version)
        }
