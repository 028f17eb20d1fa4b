"""The Spark session of an engine, and the Python workers it starts ahead."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from service.settings import Settings
from service.spark import class_archive
from service.spark.home import use_installed_pyspark

_STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
# Spark's default starts a process for each change of a local file: 90 in a batch, 0.2 s.
_CHECKPOINT_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
JVM_GONE = (Py4JError, OSError)  # what a call of Spark raises when its JVM has ended
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


def start_spark(settings: Settings, python: str | None = None) -> SparkSession:
    """A session with the options the query needs; Python workers run this same interpreter.

    `python` is the program to start them with, if it is another.
    """
    os.environ["PYSPARK_PYTHON"] = python or sys.executable
    if not settings.master:
        use_installed_pyspark()
    output = spark_output(settings)
    logs = output.parent
    # Rows are arrays of megabytes: G1 allots them separately and marks the whole heap for them.
    # Most code the JVM runs for a batch is new (plans, tasks): its second compiler took a third of
    # the processor time and never finished.
    java_options = [
        "-XX:+UseParallelGC",
        "-XX:TieredStopAtLevel=1",
        *class_archive.java_options(),
        f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}",
        f"-Dsde.logs={logs}",
    ]
    options = {
        "spark.driver.memory": settings.memory,
        "spark.driver.extraJavaOptions": " ".join(java_options),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(settings.cores),
        "spark.sql.streaming.stateStore.providerClass": _STATE_STORE,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.streaming.minBatchesToRetain": "10",
        "spark.sql.streaming.pollingDelay": "1ms",  # the sources wait: see service/kafka/source.py
        "spark.sql.execution.arrow.maxRecordsPerBatch": "64",  # rows are fat
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINT_FILES,
        # Blocks are small for what they hold, and have a checksum of their own.
        "spark.shuffle.compress": "false",
        "spark.shuffle.checksum.enabled": "false",
        "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
        "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.daemon.module": "service.spark.daemon",
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
        # Workers whose environments differ have daemons of their own. With this one, those that
        # maintain shards do nothing else: so there are few, which know their shards already.
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
    }
    here = f"local[{settings.cores}, 2]"  # a task is tried twice, then the safety net takes over
    builder = SparkSession.builder.master(settings.master or here)
    for name, value in options.items():
        builder = builder.config(name, value)
    with _children_write_to(output):
        return builder.appName(f"sde {settings.site}").getOrCreate()


def spark_output(settings: Settings) -> Path:
    """The file for what Spark's processes print; its folder is there."""
    logs = settings.data_dir.absolute() / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    return logs / "spark.out"


def stop_spark(spark: SparkSession) -> None:
    """Also if its JVM has ended already, as it does when it gets the same signal as the engine."""
    with suppress(*JVM_GONE):
        spark.stop()


def start_workers(spark: SparkSession) -> None:
    """Start both daemons, each with a worker, while the query is being planned.

    Spark would start them for its first tasks, one after the other, after planning.
    """
    with ThreadPoolExecutor(1, "workers") as beside:
        shards = beside.submit(spark.sparkContext.range(0, 1, 1, 1).mapPartitions(_unchanged).count)
        spark.range(0, 1, 1, 1).mapInArrow(_unchanged, "id long").collect()
        shards.result()


def _unchanged(rows: Any) -> Any:
    return rows


@contextmanager
def _children_write_to(path: Path) -> Iterator[None]:
    """Processes started in this block, Spark's JVM and its workers, write their output to a file.

    PySpark has no setting for that: its JVM inherits the descriptors of this process.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    ours = os.dup(1), os.dup(2)
    with open(path, "ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        for number, descriptor in enumerate(ours, 1):
            os.dup2(descriptor, number)
            os.close(descriptor)
