"""The one streaming query: ingest, maintain, merge, from Kafka to Kafka.

data topics ─────┐
request topic ───┼─> by shard ──> maintain ──> by bucket ──> merge ──> output, dead letters,
union topic ─────┘                                                     union topic
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from service import spark_classes
from service.ingest_source import RequestSource, TupleSource
from service.kafka.sink import KafkaSink, SinkOptions
from service.kafka.source import ReaderOptions
from service.maintain_processor import MaintainProcessor
from service.merge_task import merge_task
from service.rows import PARTIAL, WRITTEN
from service.settings import Settings
from service.shard_batch import ShardSettings
from service.spark_home import use_installed_pyspark

_STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
# Spark's default starts a process for each change of a local file: 90 in a batch, 0.2 s.
_CHECKPOINT_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


def start_spark(settings: Settings) -> SparkSession:
    """A session with what the query needs; workers run this same interpreter."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if not settings.master:
        use_installed_pyspark()
    logs = settings.data_dir.absolute() / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    # Rows are arrays of megabytes: G1 keeps such apart and marks the heap again and again for them.
    # What the JVM does for a batch is little and always new (plans, tasks): its best compiler took
    # a third of its time and was never done.
    java_options = [
        "-XX:+UseParallelGC",
        "-XX:TieredStopAtLevel=1",
        *spark_classes.java_options(),
        f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}",
        f"-Dsde.logs={logs}",
    ]
    options = {
        "spark.driver.memory": settings.memory,
        "spark.driver.extraJavaOptions": " ".join(java_options),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(settings.cores),
        "spark.sql.streaming.stateStore.providerClass": _STATE_STORE,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.streaming.minBatchesToRetain": "10",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "64",  # rows are fat
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINT_FILES,
        # Blocks are small for what they hold, and have a checksum of their own.
        "spark.shuffle.compress": "false",
        "spark.shuffle.checksum.enabled": "false",
        "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
        "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.daemon.module": "service.python_daemon",
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
        # Workers whose environments differ have daemons of their own. With this one, those that
        # maintain shards do nothing else: so there are few, which know their shards already.
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
    }
    here = f"local[{settings.cores}, 4]"  # a task is tried four times
    builder = SparkSession.builder.master(settings.master or here)
    for name, value in options.items():
        builder = builder.config(name, value)
    with _children_write_to(logs / "spark.out"):
        spark = builder.appName(f"sde {settings.site}").getOrCreate()
    for source in (TupleSource, RequestSource, KafkaSink):
        spark.dataSource.register(source)
    return spark


def start_workers(spark: SparkSession) -> None:
    """Have both daemons, each with a worker, up by the time the query wants them.

    Spark would start them for its first tasks, one after the other, when it has planned everything.
    """
    with ThreadPoolExecutor(1, "workers") as beside:
        shards = beside.submit(spark.sparkContext.range(0, 1, 1, 1).mapPartitions(_same).count)
        spark.range(0, 1, 1, 1).mapInArrow(_same, "id long").collect()
        shards.result()


def _same(given: Any) -> Any:
    return given


@contextmanager
def _children_write_to(path: Path) -> Iterator[None]:
    """Processes started meanwhile have their output in a file: Spark's JVM and its workers.

    PySpark offers no way to say where its JVM writes; it inherits what we have at that moment.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with open(path, "ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        for number, held in enumerate(kept, 1):
            os.dup2(held, number)
            os.close(held)


def start_query(spark: SparkSession, settings: Settings, stop_file: Path) -> StreamingQuery:
    topics = settings.topics
    data = ReaderOptions(
        kafka=settings.kafka_config,
        topics=list(topics.data),
        on_lost=settings.on_lost,
        stop_file=str(stop_file),
        target_seconds=settings.batch_seconds,
        largest_messages=settings.largest_batch,
    )
    control = ReaderOptions(
        kafka=settings.kafka_config,
        topics=[topics.requests, topics.union],
        on_lost=settings.on_lost,
        stop_file=str(stop_file),
    )
    sink = SinkOptions(
        kafka=settings.kafka_config, query=checkpoint_name(settings), markers=topics.commits
    )
    buckets = settings.cores
    shards = ShardSettings(
        arena=settings.arena_folder.absolute(),
        shards=settings.shards,
        buckets=buckets,
        compact_factor=settings.compact_factor,
        limits=settings.limits,
        snapshots=settings.snapshots_root,
        checkpoint=checkpoint_name(settings),
        trust=settings.trust,
        tuples=_source_options(data, settings),
    )
    merge = merge_task(settings.site, topics, checkpoint_name(settings), secrets(settings))
    # Spark asks the sources how far they are in this order: requests first, so that a question
    # sees every tuple that was sent before it.
    return (
        _read(spark, RequestSource.name(), control, settings)
        .union(_read(spark, TupleSource.name(), data, settings))
        .groupBy("shard_key")
        .transformWithStateInPandas(MaintainProcessor(shards), PARTIAL, "Append", "None")
        .repartition(buckets, "bucket_key")
        .mapInArrow(merge, WRITTEN)
        .writeStream.format(KafkaSink.name())
        .option("sink", sink.to_json())
        .option("checkpointLocation", str(settings.checkpoint.absolute()))
        .outputMode("append")
        .start()
    )


def _read(
    spark: SparkSession, source: str, options: ReaderOptions, settings: Settings
) -> DataFrame:
    return spark.readStream.format(source).options(**_source_options(options, settings)).load()


def _source_options(options: ReaderOptions, settings: Settings) -> dict[str, str]:
    arena = settings.arena_folder.absolute()
    return {
        "reader": options.to_json(),
        "shards": str(settings.shards),
        "union": settings.topics.union,
        "snapshots": settings.snapshots_root,
        "checkpoint": checkpoint_name(settings),
        "site": settings.site,
        "secrets": json.dumps(secrets(settings)),
        "arena": str(arena),
        # With a cluster, tasks need not be on the same machine.
        "exchange": "" if settings.master else str(arena / "exchange"),
    }


def secrets(settings: Settings) -> dict[str, str]:
    """Of the peers, by name: what messages between sites are marked with."""
    return {name: peer.secret for name, peer in settings.peers.items()}


def checkpoint_name(settings: Settings) -> str:
    """Lives and dies with the checkpoint: its batches count, and its loop runs, by this name."""
    path = settings.checkpoint / "sde-query-name"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"sde-{settings.site}-{uuid.uuid4().hex}")
    return path.read_text()
