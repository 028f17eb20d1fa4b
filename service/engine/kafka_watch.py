"""Keeps an eye on Kafka: an engine whose Kafka is away waits for it instead of ending.

The terminal gets one line when Kafka no longer answers and one when it does again. An embedded
broker that ended is started again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import KafkaException

from service.broker.embedded import EmbeddedBroker
from service.kafka.errors import AccessRefused
from service.kafka.presence import PresenceQuestion
from service.settings import Settings
from service.startup_errors import BrokerError, KafkaAway, KafkaRefuses

_PAUSE = 5.0  # seconds between two questions to a Kafka that answers
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0  # to one that does not
_LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Outage:
    """Since when Kafka does not answer (seconds of the epoch), and why."""

    since: float
    reason: str


class KafkaWatch:
    """`look` is called several times a second and does not wait; `outage` is what it knows."""

    def __init__(
        self, settings: Settings, report: Callable[[str], None], broker: EmbeddedBroker | None
    ) -> None:
        self._settings, self._report, self._broker = settings, report, broker
        topics = settings.topics
        self._topics = [*topics.data, topics.requests, topics.output, topics.union, topics.commits]
        self._question: PresenceQuestion | None = None
        self._next = 0.0  # when to ask; 0 before the first answer
        self._pause = _SHORTEST_PAUSE
        self._began = 0.0
        self.outage: Outage | None = None

    def look(self) -> None:
        """Raises KafkaAway when Kafka has been away for longer than the settings allow, and
        KafkaRefuses when it is there and does not let us in."""
        self._check_patience()
        is_time = time.monotonic() >= self._next
        if (is_time or self.outage is None) and not self._broker_runs():
            return
        if self._question is None:
            if is_time:
                self._ask()
        elif self._question.answered:
            try:
                problem = self._question.problem()
            except AccessRefused as error:
                raise KafkaRefuses(str(error)) from error
            if problem:
                self.is_away(problem)
            else:
                self._is_there()

    def _ask(self) -> None:
        try:
            self._question = PresenceQuestion(self._settings.kafka_config, self._topics)
        except KafkaException:  # a setting that librdkafka does not know: who uses Kafka names it
            self._is_there()

    def wait(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Return when Kafka answers: for the start of an engine."""
        while self.outage is not None or not self._next:
            self.look()
            meanwhile()
            time.sleep(_LOOK_SECONDS)

    def is_away(self, why: str) -> None:
        """Somebody could not use Kafka; the next question tells when it can be used again."""
        if self.outage is None:
            self.outage = Outage(time.time(), why)
            self._began, self._pause = time.monotonic(), _SHORTEST_PAUSE
            servers, most = self._settings.bootstrap_servers, self._settings.kafka_patience_seconds
            until = "until it does" if most == float("inf") else f"for at most {most:g} s"
            self._report(f"Kafka at {servers} does not answer ({why}); waiting {until}")
        self._question, self._next = None, time.monotonic() + self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def _is_there(self) -> None:
        self._question, self._next = None, time.monotonic() + _PAUSE
        if self.outage is not None:
            self.outage = None
            seconds = time.monotonic() - self._began
            servers = self._settings.bootstrap_servers
            self._report(f"Kafka at {servers} answers again after {seconds:.0f} s")

    def _broker_runs(self) -> bool:
        if self._broker is None:
            return True
        try:
            if self._broker.ensure_running():
                self._report("the embedded broker had ended; it runs again")
        except BrokerError as error:
            self.is_away(str(error).splitlines()[0])  # its log follows
            return False
        return True

    def _check_patience(self) -> None:
        most = self._settings.kafka_patience_seconds
        if self.outage is not None and time.monotonic() - self._began > most:
            raise KafkaAway(
                f"Kafka at {self._settings.bootstrap_servers} did not answer for {most:g} s "
                f"({self.outage.reason}); kafka_patience_seconds says to wait no longer"
            )
