"""For orientation: plain Spark with its own Kafka connector.

scope "stream"   Spark SQL: `approx_count_distinct` of the traders of each stream, kept as state
scope "rows"     a Python `mapInArrow` that only counts rows: what reading through the JVM costs
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bench.throughput.worker import Job, Progress

_CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
_BATCH = 1_000_000
_TUPLE = "stream string, values struct<trader: string>"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def distinct_traders(messages: DataFrame) -> DataFrame:
    tuples = messages.select(f.from_json(f.col("value").cast("string"), _TUPLE).alias("t"))
    return tuples.groupBy("t.stream").agg(f.approx_count_distinct("t.values.trader"))


def rows_counted(messages: DataFrame) -> DataFrame:
    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = sum(len(batch) for batch in batches)
        yield pa.RecordBatch.from_pydict({"rows": [rows]})

    return messages.select("value").mapInArrow(count, "rows long")


def main() -> None:
    job, progress = Job.from_arguments(), Progress()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars.packages", _CONNECTOR)
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.stateStore.providerClass", _ROCKSDB)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", job.servers)
        .option("subscribe", job.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", _BATCH)
        .load()
    )
    made = rows_counted(messages) if job.scope == "rows" else distinct_traders(messages)
    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            made.writeStream.format("noop")
            .outputMode("append" if job.scope == "rows" else "update")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        for batch in query.recentProgress:
            began = datetime.fromisoformat(batch["timestamp"]).timestamp()
            taken = batch["durationMs"]["triggerExecution"] / 1000
            progress.add(0, began)
            progress.add(batch["numInputRows"], began + taken)
        spark.stop()
    progress.print()


if __name__ == "__main__":
    main()
