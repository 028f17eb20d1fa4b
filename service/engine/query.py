"""The one streaming query: ingest, maintain, merge, from Kafka to Kafka.

data topics ─────┐
request topic ───┼─> by shard ──> maintain ──> by bucket ──> merge ──> output, dead letters,
peers topic ─────┤                                                     union, outbound topic
union topic ─────┘
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from sde.records.position import Position
from sde.stages.wiring import Wiring
from service.engine.checkpoint_name import checkpoint_name
from service.engine.loop_secret import read_seal
from service.kafka.markers import last_batch
from service.kafka.sink import KafkaSink, SinkOptions
from service.kafka.source import ReaderOptions
from service.settings import Settings
from service.stages.ingest import RequestSource, TupleSource
from service.stages.maintain import MaintainProcessor
from service.stages.merge import merge_task
from service.stages.rows import KAFKA_ROW, MERGE_ROW
from service.stages.shard_settings import ShardSettings

_WAIT_SECONDS = 1.0  # of an idle engine; new topics and sources are not found meanwhile


@dataclass(frozen=True)
class Steering:
    """How the engine steers a query from outside. No batch begins while `stop_file` exists; while
    `ends_file` exists it says where batches end. The messages `passed_over` are not handled."""

    stop_file: Path
    ends_file: Path
    passed_over: Sequence[Position] = ()


def start_query(spark: SparkSession, settings: Settings, steering: Steering) -> StreamingQuery:
    """Start the query of an engine; called in the driver."""
    stop_file, ends_file = str(steering.stop_file), str(steering.ends_file)
    topics = settings.topics
    data = ReaderOptions(
        kafka=settings.kafka_config,
        topics=list(topics.data),
        sources=str(settings.sources_folder.absolute()),
        own_topics=topics.all,
        on_lost=settings.on_lost,
        stop_file=stop_file,
        ends_file=ends_file,
        target_seconds=settings.batch_seconds,
        largest_messages=settings.largest_batch,
        wait_seconds=_WAIT_SECONDS,
        beside=topics.control,
    )
    control = ReaderOptions(
        kafka=settings.kafka_config,
        topics=list(topics.control),
        on_lost=settings.on_lost,
        may_lose=(topics.union, topics.peers),  # see docs/design/time.md
        stop_file=stop_file,
        ends_file=ends_file,
    )
    passed_over = steering.passed_over
    buckets = settings.cores
    shards = ShardSettings(
        wiring=wiring_of(settings),
        arena=settings.arena_folder.absolute(),
        buckets=buckets,
        compact_factor=settings.compact_factor,
        tuples=_source_options(data, settings, passed_over),
    )
    for source in (TupleSource, RequestSource, KafkaSink):
        spark.dataSource.register(source)
    merge = merge_task(wiring_of(settings), topics)
    # Spark asks the sources how far they are in this order: requests first, so that a question
    # sees every tuple that was sent before it, and tuples last, where idle engines wait.
    return (
        _read(spark, RequestSource.name(), control, settings, passed_over)
        .union(_read(spark, TupleSource.name(), data, settings, passed_over))
        .groupBy("shard_key")
        .transformWithStateInPandas(MaintainProcessor(shards), MERGE_ROW, "Append", "None")
        .repartition(buckets, "bucket_key")
        .mapInArrow(merge, KAFKA_ROW)
        .writeStream.format(KafkaSink.name())
        .option("sink", sink_options(settings).to_json())
        .option("checkpointLocation", str(settings.checkpoint.absolute()))
        .outputMode("append")
        .start()
    )


def sink_options(settings: Settings) -> SinkOptions:
    return SinkOptions(
        kafka=settings.kafka_config,
        query=checkpoint_name(settings),
        markers=settings.topics.commits,
        handover=str(settings.figures_folder.absolute()),
    )


def last_written(settings: Settings) -> int:
    """The last batch whose replies are in Kafka, or -1. Waits for a transaction of it that is not
    decided."""
    sink = sink_options(settings)
    return last_batch(sink.kafka, sink.markers, sink.query, sink.patience)


def _read(
    spark: SparkSession,
    source: str,
    reader: ReaderOptions,
    settings: Settings,
    passed_over: Sequence[Position],
) -> DataFrame:
    options = _source_options(reader, settings, passed_over)
    return spark.readStream.format(source).options(**options).load()


def _source_options(
    options: ReaderOptions, settings: Settings, passed_over: Sequence[Position]
) -> dict[str, str]:
    arena = settings.arena_folder.absolute()
    return {
        "reader": options.to_json(),
        "wiring": wiring_of(settings).to_json(),
        "shards": str(settings.shards),
        "union": settings.topics.union,
        "peers": settings.topics.peers,
        "registry": json.dumps(asdict(settings.registry)) if settings.registry.url else "",
        "arena": str(arena),
        "passed_over": json.dumps([(p.topic, p.partition, p.offset) for p in passed_over]),
        # With a cluster, tasks need not be on the same machine.
        "exchange": "" if settings.master else str(arena / "exchange"),
    }


def wiring_of(settings: Settings) -> Wiring:
    """What the tasks make the stages from."""
    return Wiring(
        shards=settings.shards,
        site=settings.site,
        seal=read_seal(settings),
        secrets={name: peer.secret for name, peer in settings.peers.items()},
        snapshots=settings.snapshots_root,
        has_log=bool(settings.topics.logging),
        limits=settings.limits,
        trust=settings.trust,
        own_topics=settings.topics.all,
        exported=settings.metrics.watches,
    )
