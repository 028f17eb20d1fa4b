"""A Spark streaming sink that writes rows (topic, key, value) to Kafka exactly once.

How it runs (pyspark 4.3.0): `write` runs in the tasks; what it returns is pickled, travels as one
binary value to the JVM's driver, counts there towards `spark.driver.maxResultSize` (1 GB for all
tasks of a batch), and comes to `commit` in a Python process beside the driver. A new writer is
made in that process for each batch, but the process is reused (`spark.python.worker.reuse`) until
it has been idle for a minute: so the producer is kept in the module, not in the writer. After a
crash Spark may run a batch again and call `commit` a second time with its id, from a new process.

Rows of no topic are not for Kafka: they are handed to the process of `sde serve` in a file.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from sde.records.figures import Committed, pack_figures
from sde.wire.replies import reply_in_place_of
from service.kafka.config import PATIENCE_SECONDS, Config
from service.kafka.handover import Handover
from service.kafka.transactions import BatchWriter, Row, TooLarge

OPTION = "sink"
FOR_THE_DRIVER = ""  # in the place of a topic
_LONGEST_KEY = 1000  # characters of the key of a reply that stands for one that was too large
_SMALL = 64 << 10  # bytes of a row that goes to the commit whatever the others of its task have


@dataclass(frozen=True)
class SinkOptions:
    """Everything the sink needs; travels as one JSON text in the Spark option `sink`.

    `query` names the checkpoint: the producers of all its runs have it as their transactional
    id, and its batch ids are counted under it. A new checkpoint counts from 0 again, so it needs a
    new name, else its first batches are taken for repeats.
    """

    kafka: Config  # librdkafka settings
    query: str
    markers: str = "sde.commits"  # the topic that tells which batch was written last
    patience: float = PATIENCE_SECONDS  # how long to wait for a broker that is away
    task_bytes: int = 64 << 20  # one task's rows together; beyond it large ones are too large
    handover: str = ""  # folder of the driver's machine for rows that are not for Kafka; "": none

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> SinkOptions:
        return cls(**json.loads(text))


_writers: dict[tuple[int, str], BatchWriter] = {}


def batch_writer(options: SinkOptions) -> BatchWriter:
    """The writer of this process and query."""
    key = (os.getpid(), options.to_json())
    if key not in _writers:
        _writers[key] = BatchWriter(options.kafka, options.query, options.markers, options.patience)
    return _writers[key]


class KafkaSink(DataSource):
    """Use it with .format("kafka_sink").option("sink", SinkOptions(...).to_json())."""

    @classmethod
    def name(cls) -> str:
        return "kafka_sink"

    def schema(self) -> str:
        return "topic string, key string, value binary"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        return KafkaWriter(SinkOptions.from_json(self.options[OPTION]), self.too_large)

    @staticmethod
    def too_large(row: Row) -> Row | None:
        """The row to write instead of one that is too large for Kafka; None to write nothing."""
        value = reply_in_place_of(row.value)
        key = "" if len(row.key or "") > _LONGEST_KEY else row.key
        return None if value is None else row._replace(key=key, value=value)


@dataclass(frozen=True)
class Rows(WriterCommitMessage):
    """The rows of one task, on their way to the commit in the driver's Python process.

    `figures` are those that are not for Kafka.
    """

    rows: list[Row]
    figures: list[bytes] = field(default_factory=list)


class KafkaWriter(DataSourceStreamArrowWriter):
    """Collects rows in the tasks (`write`) and writes those of a batch together (`commit`)."""

    def __init__(self, options: SinkOptions, too_large: TooLarge) -> None:
        self._options, self._too_large = options, too_large

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Rows:
        rows: list[Row] = []
        figures: list[bytes] = []
        size = 0
        for batch in iterator:
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                full = Row(*values)
                if full.topic == FOR_THE_DRIVER:
                    figures.append(full.value)
                    continue
                fits = size + len(full.value) <= self._options.task_bytes
                # What is no reply has none in its place: it is written, or the broker refuses it.
                row = full if fits or len(full.value) <= _SMALL else self._too_large(full) or full
                size += len(row.value)
                rows.append(row)
        return Rows(rows, figures)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        tasks = [message for message in messages if isinstance(message, Rows)]
        rows = [row for task in tasks for row in task.rows]
        figures = [body for task in tasks for body in task.figures]
        if rows:
            began = time.monotonic()
            batch_writer(self._options).write(batchId, rows, self._too_large)
            figures.append(pack_figures(Committed(seconds=time.monotonic() - began)))
        if figures and self._options.handover:
            Handover(Path(self._options.handover)).put(batchId, figures)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing to undo: nothing is written before commit."""
