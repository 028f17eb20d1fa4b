"""Waiting for messages at the broker: it holds a fetch back until something comes."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Consumer, TopicPartition

from service.kafka.config import Config, KafkaSettings, consumer_config
from service.kafka.offsets import Offsets

_LOOK_SECONDS = 0.1  # how often `until` is looked at meanwhile
_PAUSE_SECONDS = 0.1  # after an error: whoever asks for the ends of the logs learns more
_WAITING: Config = {
    "enable.partition.eof": False,
    "fetch.wait.max.ms": 1000,
    # Only that there is a message counts: what it is, a task reads. More of them have room, so that
    # every fetch asks for all partitions: one that is held back for others would delay the next.
    "fetch.message.max.bytes": 1024,
    "queued.max.messages.kbytes": 1024,
}


class Arrivals:
    """For one process; nothing is fetched while nobody waits."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._consumer: Consumer | None = None

    def wait(self, ends: Offsets, seconds: float, until: Callable[[], bool]) -> bool:
        """Whether something came to logs that ended there when they were looked at.

        Not if nothing came for so long, if `until` says so, or on an error.
        """
        consumer = self._consumer
        if consumer is None:
            config = {**consumer_config(self._settings), **_WAITING}
            consumer = self._consumer = Consumer(config)
        consumer.assign([TopicPartition(*key, offset) for key, offset in ends.items()])
        try:
            deadline = time.monotonic() + seconds
            while not until() and (left := deadline - time.monotonic()) > 0:
                for message in consumer.consume(1, min(left, _LOOK_SECONDS)):
                    if message.error() is None:
                        return True
                    time.sleep(_PAUSE_SECONDS)
                    return False
        finally:
            consumer.unassign()
        return False
