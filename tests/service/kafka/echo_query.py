"""A small real query, run by test_end_to_end.py in a process of its own that can be killed.

    python echo_query.py READER_OPTIONS SINK_OPTIONS CHECKPOINT STOP_FILE CRASH_FILE
Every message of the source is written to the topic "<its topic>-out". With CRASH_FILE (if it
does not exist yet), the whole query dies right after the transaction of its third batch, before
Spark has noted that the batch is done.
"""
# ruff: noqa: N802, N803  (Spark's interfaces have camelCase methods)

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource

from service.kafka.sink import KafkaSink, KafkaWriter, SinkOptions
from service.kafka.source import KafkaReader, ReaderOptions
from service.settings import Settings
from service.spark.session import start_spark

SCHEMA = "topic string, key string, value binary"


class EchoReader(KafkaReader):
    def blocks(self, messages, source):
        count = len(messages)
        keys = [f"{messages.partition}:{offset}" for offset in messages.offsets]
        values = [messages.payload(i) for i in range(count)]
        yield pa.record_batch(
            [[messages.topic + "-out"] * count, keys, pa.array(values, pa.binary())],
            ["topic", "key", "value"],
        )


class EchoSource(DataSource):
    @classmethod
    def name(cls):
        return "echo_source"

    def schema(self):
        return SCHEMA

    def streamReader(self, schema):
        return EchoReader(ReaderOptions.from_json(self.options["reader"]))


class CrashingSink(KafkaSink):
    @classmethod
    def name(cls):
        return "crashing_sink"

    def streamWriter(self, schema, overwrite):
        options = SinkOptions.from_json(self.options["sink"])
        return CrashingWriter(options, self.options["crash_file"], int(self.options["group"]))


class CrashingWriter(KafkaWriter):
    def __init__(self, options, crash_file, group):
        super().__init__(options, KafkaSink.too_large)
        self._crash_file, self._group = Path(crash_file), group

    def commit(self, messages, batchId):
        super().commit(messages, batchId)
        if batchId == 2 and not self._crash_file.exists():
            self._crash_file.touch()
            os.killpg(self._group, signal.SIGKILL)
            time.sleep(60)


def main(reader: str, sink: str, checkpoint: str, stop_file: str, crash_file: str) -> None:
    spark = start_spark(Settings(data_dir=Path(checkpoint).parent, cores=2))
    spark.dataSource.register(EchoSource)
    spark.dataSource.register(CrashingSink)
    query = (
        spark.readStream.format("echo_source")
        .option("reader", reader)
        .load()
        .mapInArrow(lambda batches: batches, SCHEMA)
        .writeStream.format("crashing_sink")
        .option("sink", sink)
        .option("crash_file", crash_file)
        .option("group", str(os.getpgrp()))
        .option("checkpointLocation", checkpoint)
        .start()
    )
    while not (os.path.exists(stop_file) and not query.status["isDataAvailable"]):
        query.awaitTermination(1)
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
