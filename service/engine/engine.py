"""Starts and stops an engine: the broker (if the settings name none), topics, Spark, the query.

All of it runs in the process of `sde serve`, which is the Python side of Spark's driver, or in
processes that this one starts.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Self

from pyspark.sql.streaming.query import StreamingQuery

from sde.records.seal import LoopSeal
from service.broker.disk_share import partition_bytes
from service.broker.embedded import EmbeddedBroker
from service.engine.clock import Clock
from service.engine.deaths import StuckTasks
from service.engine.examiner import PluginExaminer
from service.engine.forwarder import Forwarder
from service.engine.log_files import LogFiles
from service.engine.loop_secret import end_upgrade, make_secret, read_seal
from service.engine.own_folders import lock_folders
from service.engine.private_folders import make_private
from service.engine.progress import ProgressLog
from service.engine.query import start_query
from service.engine.rescale import RescaleError, RescaleNote, repartition
from service.engine.restored import check_restored
from service.engine.safety_net import SafetyNet
from service.engine.topics import prepare_topics
from service.engine.warm_up import warm_up
from service.java import find_java
from service.settings import Settings
from service.spark.session import start_spark, start_workers

_WARM_UP_SECONDS = 180.0
_STOP_SECONDS = 120.0


class Engine:
    """Runs between enter and exit; whoever entered it calls `supervise` several times a second.

    `report` is called with lines about its progress, for the terminal.
    """

    def __init__(self, settings: Settings, report: Callable[[str], None] = lambda _: None) -> None:
        self.settings = settings
        self._report = report
        self._locks, self._parts = ExitStack(), ExitStack()
        self._query: StreamingQuery | None = None
        self._progress = ProgressLog(settings.data_dir.absolute() / "logs" / "batches.jsonl")
        self._log_files = LogFiles(settings)
        self._stop_file = settings.data_dir.absolute() / "stop"
        self._net: SafetyNet | None = None
        self._rescale_note = RescaleNote(settings.data_dir)
        self._broker: EmbeddedBroker | None = None

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
        self._stop_file.unlink(missing_ok=True)
        embedded = not self.settings.bootstrap_servers
        self._report(
            "starting an embedded Kafka broker and Spark" if embedded else "starting Spark"
        )
        with ThreadPoolExecutor(2, "start") as beside:  # processes that come up at the same time
            broker = beside.submit(self._start_broker) if embedded else None
            self._spark = start_spark(self.settings)
            self._parts.callback(self._spark.stop)
            workers = beside.submit(start_workers, self._spark)
            if broker is not None:
                broker.result()
            settings = self.settings
            prepare_topics(settings, self._report)
            check_restored(settings, self._report)
            make_secret(settings)
            self._net = SafetyNet(settings, self._stop_file, self._report)
            self._start_query()
            self._report("warming up")
            self._warm_up()
            workers.result()
        self._start_threads(settings, read_seal(settings))
        end_upgrade(settings)
        self._write_address()
        self._report(
            f"ready after {time.monotonic() - started:.1f} s, Kafka at {settings.bootstrap_servers}"
        )

    def _start_threads(self, settings: Settings, seal: LoopSeal) -> None:
        """Those that work beside the query."""
        for beside in (
            Clock(settings, seal, lambda: self._progress.caught_up),
            PluginExaminer(settings, seal),
            Forwarder(settings, seal.checkpoint),
        ):
            beside.start()
            self._parts.callback(beside.stop)

    def _start_broker(self) -> None:
        settings, folder = self.settings, self.settings.data_dir.absolute() / "broker"
        count = len(settings.topics.data) * settings.topics.data_partitions
        most = partition_bytes(folder, settings.broker_bytes, count)
        broker = self._broker = EmbeddedBroker(folder, partition_bytes=most)
        broker.start()
        self.settings = replace(self.settings, bootstrap_servers=broker.bootstrap_servers)

    def check(self) -> bool:
        """Whether all is well; log the batches since last time.

        If the query has ended by itself, or hangs, it is started again as the safety net says,
        which raises StartupError where there is no use in it.
        """
        query, net = self._query, self._net
        assert query is not None
        assert net is not None
        self._progress.follow(query, net.passed_over)
        if not query.isActive:
            net.on_death(str(query.exception()))
        elif self._stuck.look():
            query.stop()
            net.on_death(f"no task ended for {self.settings.stuck_seconds:g} s")
        else:
            net.follow()
            return not net.busy
        self._start_query()
        return False

    def _start_query(self) -> None:
        assert self._net is not None
        self._stuck = StuckTasks(self._spark, self.settings.stuck_seconds)
        self._query = start_query(self._spark, self.settings, self._net.steering())

    def _warm_up(self) -> None:
        warm_up(self.settings, _WARM_UP_SECONDS + self.settings.stuck_seconds, self.check)

    def supervise(self) -> bool:
        """Restart a broker that ended, `check`, bound the logs, do a rescaling if one is wanted.

        False while the reason why a batch died is looked for: that goes faster if it is called
        more often.
        """
        if self._broker is not None and self._broker.ensure_running():
            self._report("the embedded broker had ended; it runs again")
        all_is_well = self.check()
        self._log_files.bound()
        partitions = self._rescale_note.partitions()
        if partitions is not None and all_is_well:
            self._rescale(partitions)
        return all_is_well

    def _rescale(self, partitions: int) -> None:
        """Between two batches; the query runs again afterwards, also after a failure."""
        self._report(f"rescaling to {partitions} partitions")
        self._end_query()
        failure = ""
        try:
            repartition(self._spark, self.settings.checkpoint, partitions)
        except RescaleError as error:
            failure = str(error)
        self._start_query()
        self._warm_up()
        self._report(failure or f"rescaled to {partitions} partitions")
        self._rescale_note.done(failure)

    def stop(self) -> None:
        """Finish the running batch, begin no other, and stop everything.

        The arena is removed: it is a cache of the checkpoint.
        """
        self._end_query()
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

    def _end_query(self) -> None:
        """Stop the query between two batches: while the stop file exists none begins."""
        query = self._query
        if query is not None and query.isActive:
            self._stop_file.touch()
            deadline = time.monotonic() + _STOP_SECONDS
            while query.isActive and _busy(query) and time.monotonic() < deadline:
                time.sleep(0.05)
            query.stop()
        self._stop_file.unlink(missing_ok=True)

    def _write_address(self) -> None:
        """Write the file through which clients on this machine find the engine."""
        address = {
            "bootstrap_servers": self.settings.bootstrap_servers,
            "topics": asdict(self.settings.topics),
            "pid": os.getpid(),
        }
        path = self.settings.data_dir / "address.json"
        path.write_text(json.dumps(address, indent=2))
        self._parts.callback(path.unlink, missing_ok=True)


def _busy(query: StreamingQuery) -> bool:
    """Whether a batch runs. Looked at several times: between two batches the query seems idle."""
    for _ in range(3):
        if query.status["isTriggerActive"]:
            return True
        time.sleep(0.1)
    return False
