"""A running engine: broker (if none is given), topics, Spark, the query. Starts and stops them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Self

from pyspark.sql.streaming.query import StreamingQuery

from service.broker import EmbeddedBroker
from service.clock import Clock
from service.java import find_java
from service.progress import ProgressLog
from service.query import start_query, start_spark
from service.settings import Settings
from service.startup_errors import StartupError
from service.topics import TopicSpec, ensure_topics
from service.warm_up import warm_up

_WARM_UP_SECONDS = 180.0
_STOP_SECONDS = 120.0
_LARGEST_MESSAGE = str(16 << 20)
_UNION_RETENTION = 86_400_000  # ms: it is read at once, but an engine may be down for a while


class Engine:
    """Runs between enter and exit; `check` tells whether it still does."""

    def __init__(self, settings: Settings, say: Callable[[str], None] = lambda _: None) -> None:
        self.settings = settings
        self._say = say
        self._parts = ExitStack()
        self._query: StreamingQuery | None = None
        self._progress = ProgressLog(settings.data_dir.absolute() / "logs" / "batches.jsonl")
        self._stop_file = settings.data_dir.absolute() / "stop"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self._parts.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Return when a first question was answered."""
        settings = self.settings
        started = time.monotonic()
        find_java()
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        self._stop_file.unlink(missing_ok=True)
        if not settings.bootstrap_servers:
            self._say("starting an embedded Kafka broker")
            broker = self._parts.enter_context(EmbeddedBroker(settings.data_dir / "broker"))
            settings = replace(settings, bootstrap_servers=broker.bootstrap_servers)
            self.settings = settings
        ensure_topics(settings.kafka_config, _topic_specs(settings))
        self._say("starting Spark")
        spark = start_spark(settings)
        self._parts.callback(spark.stop)
        self._query = start_query(spark, settings, self._stop_file)
        self._say("warming up")
        warm_up(settings, _WARM_UP_SECONDS, self.check)
        clock = Clock(settings, lambda: self._progress.caught_up)
        clock.start()
        self._parts.callback(clock.stop)
        self._write_address()
        self._say(
            f"ready after {time.monotonic() - started:.1f} s, Kafka at {settings.bootstrap_servers}"
        )

    def check(self) -> None:
        """Raise if the query ended by itself; note what it did since the last call."""
        query = self._query
        assert query is not None
        self._progress.follow(query)
        if not query.isActive:
            logs = self.settings.data_dir / "logs" / "spark.log"
            raise StartupError(f"the query ended: {_reason(str(query.exception()))} (see {logs})")

    def stop(self) -> None:
        """Finish the running batch, admit no other, and stop everything."""
        query = self._query
        if query is not None and query.isActive:
            self._stop_file.touch()
            deadline = time.monotonic() + _STOP_SECONDS
            while query.isActive and _busy(query) and time.monotonic() < deadline:
                time.sleep(0.05)
            query.stop()
        self._parts.close()
        self._stop_file.unlink(missing_ok=True)

    def _write_address(self) -> None:
        """Where clients on this machine find the engine."""
        address = {
            "bootstrap_servers": self.settings.bootstrap_servers,
            "topics": asdict(self.settings.topics),
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
        TopicSpec(topics.output, 1, large),
        TopicSpec(topics.dead_letters, 1, large),
        TopicSpec(topics.commits, 1, {"cleanup.policy": "compact"}),
    ]
