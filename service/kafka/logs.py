"""What the broker knows about topics: their partitions, and where each log starts and ends."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec

from service.kafka.access import check_access
from service.kafka.admins import admin, forget_admin
from service.kafka.config import KafkaSettings
from service.kafka.errors import BrokerSilent, FetchFailed
from service.kafka.offsets import Key, Offsets

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")
_REQUEST_SECONDS = 5.0
_BACKOFF_SECONDS = 0.1
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]

# Errors that pass by themselves: the broker restarts, a leader moves, metadata is behind.
TRANSIENT = {
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._NOENT,
    KafkaError._RESOLVE,
    KafkaError._TIMED_OUT,
    KafkaError._TIMED_OUT_QUEUE,
    KafkaError._TRANSPORT,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._WAIT_CACHE,
    KafkaError._WAIT_COORD,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
}

_MISSING = {
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}


def waiting_helps(error: BaseException) -> bool:
    """Whether an error, or the one it was raised from, says that brokers are away.

    A topic that is missing for long is not: it does not come back by itself.
    """
    if isinstance(error, BrokerSilent):
        return True
    if isinstance(error, KafkaException):
        return error.args[0].code() in TRANSIENT - _MISSING
    return error.__cause__ is not None and waiting_helps(error.__cause__)


class LogEnds:
    """Starts and ends of the logs of a list of topics.

    A topic that does not exist (yet) counts as empty. Partitions are looked for again every
    `discover_seconds`, so that topics and partitions added later are found.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topics: Iterable[str],
        patience: float,
        discover_seconds: float = 5.0,
    ) -> None:
        self._settings, self._topics = settings, sorted(set(topics))
        self._patience, self._discover_seconds = patience, discover_seconds
        self._partitions: list[Key] = []
        self._fits: Callable[[str], bool] | None = None
        self._discovered = float("-inf")

    def look_for(self, topics: Iterable[str], fits: Callable[[str], bool] | None = None) -> None:
        """From now on these topics, and all whose names fit."""
        self._topics, self._fits = sorted(set(topics)), fits
        self._discovered = float("-inf")

    def partitions(self) -> list[Key]:
        now = time.monotonic()
        if now - self._discovered >= self._discover_seconds:
            self._partitions = self._patiently(self._discover)
            self._discovered = now
        return self._partitions

    def ends(self) -> Offsets:
        """Last stable offsets: what a reader of committed messages can get to."""
        return self.ends_of(self.partitions())

    def ends_of(self, partitions: Iterable[Key]) -> Offsets:
        """The same of some partitions."""
        return self._offsets(partitions, _LATEST, IsolationLevel.READ_COMMITTED)

    def at_time(self, partitions: Iterable[Key], time: int) -> Offsets:
        """The first message at or after a time (ms since the epoch); the end if there is none."""
        keys, spec = list(partitions), OffsetSpec.for_timestamp(time)
        found = self._offsets(keys, spec, IsolationLevel.READ_COMMITTED, or_none=True)
        ends = self.ends_of(keys)
        return {key: ends[key] if offset < 0 else offset for key, offset in found.items()}

    def starts(self, partitions: Iterable[Key]) -> Offsets:
        return self._offsets(partitions, _EARLIEST, IsolationLevel.READ_COMMITTED)

    def high_watermarks(self, partitions: Iterable[Key]) -> Offsets:
        """Ends that count transactions still open."""
        return self._offsets(partitions, _LATEST, IsolationLevel.READ_UNCOMMITTED)

    def _offsets(
        self,
        partitions: Iterable[Key],
        spec: OffsetSpec,
        isolation: IsolationLevel,
        or_none: bool = False,
    ) -> Offsets:
        asked = {TopicPartition(topic, partition): spec for topic, partition in partitions}
        if not asked:
            return {}

        def ask() -> Offsets:
            futures = admin(self._settings).list_offsets(
                asked, isolation_level=isolation, request_timeout=_REQUEST_SECONDS
            )
            told = {(at.topic, at.partition): f.result().offset for at, f in futures.items()}
            if not or_none and any(offset < 0 for offset in told.values()):
                # While its broker is away librdkafka may report success without an offset.
                raise KafkaException(KafkaError(KafkaError._TRANSPORT))
            return told

        return self._patiently(ask)

    def _discover(self) -> list[Key]:
        found: list[Key] = []
        futures = admin(self._settings).describe_topics(
            TopicCollection(self._topics), request_timeout=_REQUEST_SECONDS
        )
        for topic, future in futures.items():
            try:
                found += [(topic, partition.id) for partition in future.result().partitions]
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise
        if self._fits is not None:
            listed = admin(self._settings).list_topics(timeout=_REQUEST_SECONDS).topics
            for topic in listed.keys() - set(self._topics):
                if self._fits(topic):
                    found += [(topic, partition) for partition in listed[topic].partitions]
        return sorted(found)

    def _patiently(self, ask: Callable[[], _Result]) -> _Result:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return ask()
            except KafkaException as exception:
                error: KafkaError = exception.args[0]
                if error.code() not in TRANSIENT:
                    raise FetchFailed(
                        f"Topics {self._topics}: the broker does not tell their offsets: "
                        f"{error.str()}."
                    ) from exception
                if time.monotonic() > deadline:
                    raise BrokerSilent(
                        f"Topics {self._topics}: the broker did not tell their offsets for "
                        f"{self._patience:g} s ({error.str()})."
                    ) from exception
                check_access(self._settings)
                _log.warning("topics %s: %s; asking again", self._topics, error.str())
                forget_admin(self._settings)
                time.sleep(_BACKOFF_SECONDS)
