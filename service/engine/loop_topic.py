"""The union topic as the clock and the examiner use it: records of sde.records.loop in and out."""

from __future__ import annotations

from confluent_kafka import Message, Producer

from sde.records.loop import Loop, NotOurs, decode_loop, loop_bytes
from service.settings import Settings


class LoopTopic:
    """`checkpoint` is the name of the engine's checkpoint: messages of others are left out."""

    def __init__(self, settings: Settings, checkpoint: str) -> None:
        self._topic, self._checkpoint = settings.topics.union, checkpoint
        self._producer = Producer({**settings.kafka_config, "linger.ms": 0, "log_level": 0})

    def read(self, message: Message) -> Loop | None:
        """The record of a message; None for what is no record of this checkpoint."""
        try:
            return decode_loop(message.value() or b"", self._checkpoint)
        except NotOurs:
            return None

    def write(self, record: Loop, seconds: float) -> bool:
        """Whether Kafka has taken the record within so many seconds; it may still do so later."""
        self._producer.produce(self._topic, loop_bytes(record, self._checkpoint))
        return self._producer.flush(seconds) == 0
