"""Starts and stops an engine: the broker (if the settings name none), topics, Spark, the query.

All of it runs in the process of `sde serve`, which is the Python side of Spark's driver, or in
processes that this one starts.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Self

from confluent_kafka import KafkaException

from sde.records.seal import LoopSeal
from sde.wire.status import State
from service.broker.disk_share import partition_bytes
from service.broker.embedded import EmbeddedBroker
from service.engine.address_file import address_path, write_address
from service.engine.clock import Clock
from service.engine.examiner import PluginExaminer
from service.engine.forwarder import Forwarder
from service.engine.gateway_process import GatewayProcess
from service.engine.kafka_watch import KafkaWatch
from service.engine.log_files import LogFiles
from service.engine.loop_secret import end_upgrade, make_secret, read_seal
from service.engine.metrics_file import MetricsFile
from service.engine.own_folders import lock_folders
from service.engine.private_folders import make_private
from service.engine.progress import ProgressLog
from service.engine.query_keeper import QueryKeeper
from service.engine.rescale import RescaleError, RescaleNote, repartition
from service.engine.restored import check_restored
from service.engine.source_keeper import SourceKeeper, request_sources
from service.engine.status import StatusFile
from service.engine.topics import prepare_topics
from service.engine.warm_up import warm_up
from service.java import find_java
from service.kafka.errors import KafkaFailure
from service.kafka.logs import waiting_helps
from service.settings import Settings
from service.spark.nursery import nursery
from service.spark.session import (
    JVM_GONE,
    spark_output,
    start_spark,
    start_workers,
    stop_spark,
)
from service.startup_errors import StartupError

_WARM_UP_SECONDS = 180.0


class Engine:
    """Runs between enter and exit; whoever entered it calls `supervise` several times a second.

    `report` is called with lines about its progress, for the terminal.
    """

    def __init__(self, settings: Settings, report: Callable[[str], None] = lambda _: None) -> None:
        self.settings = settings
        self._report = report
        self._locks, self._parts = ExitStack(), ExitStack()
        self._query: QueryKeeper | None = None
        self._metrics = MetricsFile(settings)
        batches = settings.data_dir.absolute() / "logs" / "batches.jsonl"
        self._progress = ProgressLog(batches, self._metrics.collector.on_batch)
        self._log_files = LogFiles(settings)
        self._status = StatusFile(settings, self._progress)
        self._is_ready = False
        self._rescale_note = RescaleNote(settings.data_dir)
        self._broker: EmbeddedBroker | None = None
        self._watch: KafkaWatch | None = None
        self._gateway: GatewayProcess | None = None
        self._forwarder: Forwarder | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Return when the engine has answered a first request."""
        started = time.monotonic()
        find_java()
        for warning in make_private(self.settings):
            self._report(warning)
        self._locks = lock_folders(self.settings)
        address_path(self.settings.data_dir).unlink(missing_ok=True)  # of one that was killed
        self._parts.callback(self._status.remove)
        self._metrics.begin()
        self._parts.callback(self._metrics.remove)
        self._write_status()
        embedded = not self.settings.bootstrap_servers
        self._report(
            "starting an embedded Kafka broker and Spark" if embedded else "starting Spark"
        )
        python = None  # of a cluster: what its machines have
        if not self.settings.master:
            python = self._parts.enter_context(nursery(spark_output(self.settings)))
        with ThreadPoolExecutor(2, "start") as beside:  # processes that come up at the same time
            broker = beside.submit(self._start_broker) if embedded else None
            self._spark = start_spark(self.settings, python)
            self._parts.callback(stop_spark, self._spark)
            workers = beside.submit(start_workers, self._spark)
            if broker is not None:
                broker.result()
            settings = self.settings
            watch = self._watch = KafkaWatch(settings, self._report, self._broker)
            self._patiently(self._prepare)
            self._query = QueryKeeper(self._spark, settings, watch, self._progress, self._report)
            self._query.start()
            self._report("warming up")
            self._patiently(self._warm_up)
            workers.result()
        self._start_threads(settings, read_seal(settings))
        end_upgrade(settings)
        request_sources(settings)
        self._write_address()
        self._is_ready = True
        self._write_status()
        self._gateway = GatewayProcess(settings, self._report)
        self._parts.callback(self._gateway.stop)
        self._gateway.start()
        self._gateway.wait()
        self._report(
            f"ready after {time.monotonic() - started:.1f} s, Kafka at {settings.bootstrap_servers}"
        )

    def _prepare(self) -> None:
        """What needs Kafka before the query starts; may be done again."""
        prepare_topics(self.settings, self._report)
        check_restored(self.settings, self._report)
        make_secret(self.settings)

    def _patiently(self, step: Callable[[], None]) -> None:
        """Do it when Kafka answers; again if Kafka goes away meanwhile."""
        watch = self._watch
        assert watch is not None
        while True:
            watch.wait(self._write_status)
            try:
                return step()
            except (KafkaException, KafkaFailure, StartupError) as error:
                if not waiting_helps(error):
                    raise
                watch.is_away(str(error))

    def _start_threads(self, settings: Settings, seal: LoopSeal) -> None:
        """Those that work beside the query."""
        self._forwarder = Forwarder(settings, seal.checkpoint)
        for beside in (
            Clock(settings, seal, lambda: self._progress.left),
            PluginExaminer(settings, seal),
            SourceKeeper(settings, seal),
            self._forwarder,
        ):
            beside.start()
            self._parts.callback(beside.stop)

    def _start_broker(self) -> None:
        settings, folder = self.settings, self.settings.data_dir.absolute() / "broker"
        count = len(settings.topics.data) * settings.topics.data_partitions
        most = partition_bytes(folder, settings.broker_bytes, count)
        broker = self._broker = EmbeddedBroker(
            folder, port=settings.broker_port, partition_bytes=most, report=self._report
        )
        broker.start()
        self.settings = replace(self.settings, bootstrap_servers=broker.bootstrap_servers)

    def check(self) -> bool:
        """Whether all is well with Kafka and the query; raises StartupError if it has to end."""
        self._write_status()
        return self._keeper.check()

    @property
    def _keeper(self) -> QueryKeeper:
        assert self._query is not None
        return self._query

    def _warm_up(self) -> None:
        seconds = _WARM_UP_SECONDS + self.settings.stuck_seconds
        warm_up(self.settings, seconds, self.check, with_tuple=self._broker is not None)

    def supervise(self) -> bool:
        """`check`, bound the logs, keep the gateway up, do a rescaling if one is wanted.

        False while Kafka is away, or the reason why a batch died is looked for: that goes faster if
        it is called more often.
        """
        all_is_well = self.check()
        self._log_files.bound()
        if self._gateway is not None:
            self._gateway.check()
        partitions = self._rescale_note.partitions()
        if partitions is not None and all_is_well:
            self._rescale(partitions)
        return all_is_well

    def _rescale(self, partitions: int) -> None:
        """Between two batches; the query runs again afterwards, also after a failure."""
        self._report(f"rescaling to {partitions} partitions")
        self._keeper.end()
        failure = ""
        try:
            repartition(self._spark, self.settings.checkpoint, partitions)
        except RescaleError as error:
            failure = str(error)
        self._patiently(self._warm_up)
        self._report(failure or f"rescaled to {partitions} partitions")
        self._rescale_note.done(failure)

    def stop(self) -> None:
        """Finish the running batch, begin no other, and stop everything.

        The arena is removed: it is a cache of the checkpoint.
        """
        self._write_status("stopping")
        try:
            self._keeper.end()
        except JVM_GONE:
            self._report("Spark ended first; the next start does the running batch again")
        self._stop_parts()
        shutil.rmtree(self.settings.arena_folder, ignore_errors=True)
        self._locks.close()

    def _close(self) -> None:
        self._stop_parts()
        self._locks.close()

    def _stop_parts(self) -> None:
        """Stop the broker last: the other parts use it until they end."""
        self._parts.close()
        if self._broker is not None:
            self._broker.stop()

    def _write_address(self) -> None:
        """Write the file through which clients on this machine find the engine."""
        self._parts.callback(write_address(self.settings).unlink, missing_ok=True)

    def _write_status(self, state: State | None = None) -> None:
        """`state` if it is another than that of the query."""
        outage = self._watch.outage if self._watch is not None else None
        passed_over = 0
        if self._query is None or not self._is_ready:
            state = "starting"
        else:
            state, passed_over = state or self._query.state, self._query.passed_over
        self._status.write(state, self.settings.bootstrap_servers, outage, passed_over)
        self._metrics.write(
            state,
            kafka_is_up=outage is None,
            passed_over=passed_over,
            left=self._progress.left,
            sites=self._forwarder.sites if self._forwarder is not None else {},
        )
