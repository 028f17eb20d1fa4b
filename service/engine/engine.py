"""A running engine: broker (if none is given), topics, Spark, the query. Starts and stops them."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Self

from pyspark.sql.streaming.query import StreamingQuery

from service.broker.embedded import EmbeddedBroker
from service.engine.clock import Clock
from service.engine.examiner import Admission
from service.engine.forwarder import Forwarder
from service.engine.progress import ProgressLog
from service.engine.query import checkpoint_name, start_query
from service.engine.rescale import RescaleError, RescaleNote, repartition
from service.engine.warm_up import warm_up
from service.java import find_java
from service.kafka.topics import TopicSpec, ensure_topics
from service.settings import Settings
from service.spark.session import start_spark, start_workers
from service.startup_errors import StartupError

_WARM_UP_SECONDS = 180.0
_STOP_SECONDS = 120.0
_LARGEST_MESSAGE = str(16 << 20)
_UNION_RETENTION = 86_400_000  # ms: it is read at once, but an engine, or a peer, may be down


class Engine:
    """Runs between enter and exit; `check` tells whether it still does."""

    def __init__(self, settings: Settings, say: Callable[[str], None] = lambda _: None) -> None:
        self.settings = settings
        self._say = say
        self._parts = ExitStack()
        self._query: StreamingQuery | None = None
        self._progress = ProgressLog(settings.data_dir.absolute() / "logs" / "batches.jsonl")
        self._stop_file = settings.data_dir.absolute() / "stop"
        self._note = RescaleNote(settings.data_dir)
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
        """Return when a first question was answered."""
        started = time.monotonic()
        find_java()
        self.settings.data_dir.mkdir(parents=True, exist_ok=True)
        self._stop_file.unlink(missing_ok=True)
        embedded = not self.settings.bootstrap_servers
        self._say("starting an embedded Kafka broker and Spark" if embedded else "starting Spark")
        with ThreadPoolExecutor(2, "start") as beside:  # processes that come up at the same time
            broker = beside.submit(self._start_broker) if embedded else None
            self._spark = start_spark(self.settings)
            self._parts.callback(self._spark.stop)
            workers = beside.submit(start_workers, self._spark)
            if broker is not None:
                broker.result()
            settings = self.settings
            ensure_topics(settings.kafka_config, _topic_specs(settings))
            self._query = start_query(self._spark, settings, self._stop_file)
            self._say("warming up")
            warm_up(settings, _WARM_UP_SECONDS, self.check)
            workers.result()
        clock = Clock(settings, checkpoint_name(settings), lambda: self._progress.caught_up)
        clock.start()
        self._parts.callback(clock.stop)
        admission = Admission(settings, checkpoint_name(settings))
        admission.start()
        self._parts.callback(admission.stop)
        forwarder = Forwarder(settings, checkpoint_name(settings))
        forwarder.start()
        self._parts.callback(forwarder.stop)
        self._write_address()
        self._say(
            f"ready after {time.monotonic() - started:.1f} s, Kafka at {settings.bootstrap_servers}"
        )

    def _start_broker(self) -> None:
        broker = self._broker = EmbeddedBroker(self.settings.data_dir / "broker")
        broker.start()
        self.settings = replace(self.settings, bootstrap_servers=broker.bootstrap_servers)

    def check(self) -> None:
        """Raise if the query ended by itself; note what it did since the last call."""
        query = self._query
        assert query is not None
        self._progress.follow(query)
        if not query.isActive:
            logs = self.settings.data_dir / "logs" / "spark.log"
            raise StartupError(f"the query ended: {_reason(str(query.exception()))} (see {logs})")

    def tend(self) -> None:
        """What is to be done now and then while the engine runs; raises if it runs no more."""
        if self._broker is not None and self._broker.ensure_running():
            self._say("the embedded broker had ended; it runs again")
        self.check()
        partitions = self._note.partitions()
        if partitions is not None:
            self._rescale(partitions)

    def _rescale(self, partitions: int) -> None:
        self._say(f"rescaling to {partitions} partitions")
        self._end_query()
        failure = ""
        try:
            repartition(self._spark, self.settings.checkpoint, partitions)
        except RescaleError as error:
            failure = str(error)
        self._query = start_query(self._spark, self.settings, self._stop_file)
        warm_up(self.settings, _WARM_UP_SECONDS, self.check)
        self._say(failure or f"rescaled to {partitions} partitions")
        self._note.done(failure)

    def stop(self) -> None:
        """Finish the running batch, admit no other, and stop everything.

        The arena is a cache of the checkpoint: it goes too, so that a stopped engine leaves only
        what is worth keeping.
        """
        self._end_query()
        self._close()
        shutil.rmtree(self.settings.arena_folder, ignore_errors=True)

    def _close(self) -> None:
        """The broker last: the others talk to it until they end."""
        self._parts.close()
        if self._broker is not None:
            self._broker.stop()

    def _end_query(self) -> None:
        """Between two batches: the running one is finished, no other is admitted."""
        query = self._query
        if query is not None and query.isActive:
            self._stop_file.touch()
            deadline = time.monotonic() + _STOP_SECONDS
            while query.isActive and _busy(query) and time.monotonic() < deadline:
                time.sleep(0.05)
            query.stop()
        self._stop_file.unlink(missing_ok=True)

    def _write_address(self) -> None:
        """Where clients on this machine find the engine."""
        address = {
            "bootstrap_servers": self.settings.bootstrap_servers,
            "topics": asdict(self.settings.topics),
            "pid": os.getpid(),
        }
        path = self.settings.data_dir / "address.json"
        path.write_text(json.dumps(address, indent=2))
        self._parts.callback(path.unlink, missing_ok=True)


def _reason(failure: str) -> str:
    """The line that says why, out of pages of stack trace: our own error, or the first."""
    ours = re.findall(r"^(?:service|sde)\.[\w.]+: (.+)$", failure, re.MULTILINE)
    return str(ours[-1]) if ours else failure.split("\n", 1)[0][:500]


def _busy(query: StreamingQuery) -> bool:
    """Whether a batch runs; asked twice, because between two batches it looks idle."""
    for _ in range(3):
        if query.status["isTriggerActive"]:
            return True
        time.sleep(0.1)
    return False


def _topic_specs(settings: Settings) -> list[TopicSpec]:
    topics = settings.topics
    large = {"max.message.bytes": _LARGEST_MESSAGE}
    return [
        *(TopicSpec(name, topics.data_partitions, large) for name in topics.data),
        TopicSpec(topics.requests, 1, large),
        TopicSpec(topics.union, 1, {**large, "retention.ms": str(_UNION_RETENTION)}),
        TopicSpec(topics.outbound, 1, {**large, "retention.ms": str(_UNION_RETENTION)}),
        TopicSpec(topics.output, 1, large),
        TopicSpec(topics.dead_letters, 1, large),
        *(TopicSpec(name, 1, large) for name in [topics.logging] if name),
        TopicSpec(topics.commits, 1, {"cleanup.policy": "compact"}),
    ]
