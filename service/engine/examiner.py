"""Examines plug-ins beside the query, so that no batch waits for it, and keeps the log of them.

Merge writes a plug-in that waits to the union topic; a thread here reads it, examines it in a
process of its own and writes the outcome back, for all shards. What was not finished when the
engine ended is done when it starts again. What the shards decide about plug-ins comes the same way
and is one line each in logs/plugins.log.
"""

from __future__ import annotations

import logging
from pathlib import Path

from confluent_kafka import Message

from sde.records.loop import Admit, Noted
from sde.records.seal import LoopSeal
from sde.requests.examining import admit, log, write
from service.engine.follower import TopicFollower
from service.engine.loop_topic import LoopTopic
from service.kafka.config import consumer_config
from service.settings import Settings

_KAFKA_SECONDS = 10.0


class PluginExaminer(TopicFollower):
    """Runs in a thread of its own between `start` and `stop`."""

    def __init__(self, settings: Settings, seal: LoopSeal) -> None:
        super().__init__(
            "examiner",
            settings.topics.union,
            consumer_config(settings.kafka_config),
            # Part of what an engine leaves in Kafka: another name would begin anew at the end.
            group=f"{seal.checkpoint}-admission",
        )
        self._settings, self._loop = settings, LoopTopic(settings, seal)
        self._log_file = _log_to(settings.data_dir / "logs" / "plugins.log")

    def stop(self) -> None:
        super().stop()
        log.removeHandler(self._log_file)
        self._log_file.close()

    def on_poll(self, messages: list[Message]) -> bool:
        finished = False
        for message in messages:
            match self._loop.read(message):
                case Admit() as waiting:
                    outcome = admit(waiting, self._settings.trust, self._settings.limits)
                    finished = self._loop.write(outcome, _KAFKA_SECONDS)
                case Noted() as noted:
                    write(noted)
                    finished = True
        return finished


def _log_to(path: Path) -> logging.Handler:
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    log.propagate = False
    return handler
