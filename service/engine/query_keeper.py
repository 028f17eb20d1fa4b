"""Keeps the query of an engine running: starts it, and starts it again when it has ended.

A query that ended because Kafka is away is no message's fault: it runs again as it was when Kafka
answers. Of any other death the safety net decides what comes next.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import KafkaException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from sde.wire.status import State
from service.engine.deaths import StuckTasks, is_for_want_of_kafka, reason
from service.engine.kafka_watch import KafkaWatch
from service.engine.progress import ProgressLog
from service.engine.query import start_query
from service.engine.safety_net import SafetyNet
from service.kafka.errors import KafkaFailure
from service.settings import Settings

_STOP_SECONDS = 120.0


class QueryKeeper:
    """`check` is called several times a second, from the start of the query on."""

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        kafka: KafkaWatch,
        progress: ProgressLog,
        report: Callable[[str], None],
    ) -> None:
        self._spark, self._settings = spark, settings
        self._kafka, self._progress = kafka, progress
        self._stop_file = settings.data_dir.absolute() / "stop"
        self._stop_file.unlink(missing_ok=True)
        self._net = SafetyNet(settings, self._stop_file, report)
        self._query: StreamingQuery | None = None

    @property
    def passed_over(self) -> int:
        return self._net.passed_over

    @property
    def state(self) -> State:
        if self._query is None and self._kafka.outage is not None:
            return "waiting"
        return "recovering" if self._net.busy else "running"

    def start(self) -> None:
        self._stuck = StuckTasks(self._spark, self._settings.stuck_seconds)
        self._query = start_query(self._spark, self._settings, self._net.steering())

    def check(self) -> bool:
        """Whether all is well; log the batches since last time.

        If the query has ended by itself, or hangs, it is started again. Raises StartupError where
        there is no use in it.
        """
        self._kafka.look()
        query, is_away = self._query, self._kafka.outage is not None
        if query is None:
            if not is_away:
                self.start()
            return False
        self._progress.follow(query, self._net.passed_over)
        if is_away:
            self._stuck.begin_anew()  # tasks wait for Kafka
        if not query.isActive:
            self._on_death(str(query.exception()))
        elif self._stuck.look():
            query.stop()
            self._on_death(f"no task ended for {self._settings.stuck_seconds:g} s")
        else:
            self._net.follow()
            return not is_away and not self._net.busy
        return False

    def end(self) -> None:
        """Stop the query between two batches: while the stop file exists none begins."""
        query, self._query = self._query, None
        if query is not None and query.isActive:
            self._stop_file.touch()
            deadline = time.monotonic() + _STOP_SECONDS
            while query.isActive and _busy(query) and time.monotonic() < deadline:
                if self._kafka.outage is not None:
                    break  # the batch would wait for Kafka; the next run does it again
                time.sleep(0.05)
            query.stop()
        self._stop_file.unlink(missing_ok=True)

    def _on_death(self, failure: str) -> None:
        self._query = None
        try:
            if is_for_want_of_kafka(failure):
                self._kafka.is_away(reason(failure))
            else:
                self._net.on_death(failure)
        except (KafkaException, KafkaFailure) as error:
            self._kafka.is_away(str(error))


def _busy(query: StreamingQuery) -> bool:
    """Whether a batch runs. Looked at several times: one may be about to begin."""
    for _ in range(3):
        if query.status["isDataAvailable"]:
            return True
        time.sleep(0.1)
    return False
