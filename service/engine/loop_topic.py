"""The union topic as the clock and the examiner use it: records of sde.records.loop in and out."""

from __future__ import annotations

from confluent_kafka import Message, Producer

from sde.records.loop import Loop, decode_loop, decode_unsealed, loop_bytes
from sde.records.seal import Forged, LoopSeal, NotOurs, Opened, is_sealed
from service.kafka.config import admin_config
from service.settings import Settings


class LoopTopic:
    """What others wrote is left out, and what is a copy of a record that was read before."""

    def __init__(self, settings: Settings, seal: LoopSeal) -> None:
        self._topic, self._seal = settings.topics.union, seal
        self._producer = Producer({**admin_config(settings.kafka_config), "linger.ms": 0})
        self._batch = -1  # the latest that a record was read of
        self._of_batch: dict[bytes, int] = {}  # offsets of its records, by their bodies

    def read(self, message: Message) -> Loop | None:
        """The record of a message; None for what is no new record of this checkpoint."""
        payload, offset = message.value() or b"", message.offset() or 0
        try:
            if is_sealed(payload):
                opened = self._seal.open(payload)
                return decode_loop(opened.body) if self._is_new(opened, offset) else None
            if self._seal.is_older(self._topic, offset):
                return decode_unsealed(payload, self._seal.checkpoint)
        except (NotOurs, Forged):
            pass
        return None

    def write(self, record: Loop, seconds: float) -> bool:
        """Whether Kafka has taken the record within so many seconds; it may still do so later."""
        self._producer.produce(self._topic, loop_bytes(record, self._seal))
        return self._producer.flush(seconds) == 0

    def _is_new(self, opened: Opened, offset: int) -> bool:
        """Batches write one after the other: what is of an earlier one than the last is a copy.

        After a failure of Kafka the same message is read again, which is no copy.
        """
        batch = opened.batch
        if batch is None or batch < self._batch:
            return False
        if batch > self._batch:
            self._batch, self._of_batch = batch, {}
        return self._of_batch.setdefault(opened.body, offset) == offset
