"""The engine's clock: it writes a tick to the union topic when something is waiting for one.

Stages have no clock; time comes to them as messages, the same to all shards in the same batch.
After each tick (and when a request changes it) the engine says when the next one is needed: for
a watch, a lifetime, a window by arrival. While nothing is waiting no tick is written, so an idle
engine runs no batches. The next tick is never written before the last was answered.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from sde.wire import Refusal
from sde.wire.loop import Due, Tick, decode_loop, loop_json
from service.kafka.config import consumer_config
from service.settings import Settings

_log = logging.getLogger(__name__)
_POLL_SECONDS = 0.1
_SILENCE_SECONDS = 30.0  # a tick that is not answered for so long may be lost: write another


class Clock:
    """Runs in a thread of its own between `start` and `stop`.

    Time is the machine's at the start and then what passes: a clock that is set anew while the
    engine runs changes nothing.
    """

    def __init__(self, settings: Settings, checkpoint: str, caught_up: Callable[[], bool]) -> None:
        self._settings, self._checkpoint, self._caught_up = settings, checkpoint, caught_up
        self._began = time.time() - time.monotonic()
        self._due: int | None = self._now()  # whether anything is waiting is not known yet
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clock", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _now(self) -> int:
        return round((self._began + time.monotonic()) * 1000)

    def _run(self) -> None:
        topic = self._settings.topics.union
        kafka = {**consumer_config(self._settings.kafka_config), "log_level": 0}
        consumer = Consumer({**kafka, "auto.offset.reset": "latest"})
        producer = Producer({**self._settings.kafka_config, "linger.ms": 0, "log_level": 0})
        try:
            consumer.assign([TopicPartition(topic, 0, self._end(consumer, topic))])
            while not self._stopping.is_set():
                self._listen(consumer)
                if self._due is not None and self._due <= self._now():
                    tick = Tick(self._now(), self._caught_up())
                    producer.produce(topic, json.dumps(loop_json(tick, self._checkpoint)))
                    producer.poll(0)
                    self._due = self._now() + round(_SILENCE_SECONDS * 1000)
            producer.flush(5)
        finally:
            consumer.close()

    def _end(self, consumer: Consumer, topic: str) -> int:
        while True:
            try:
                return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), 5)[1])
            except KafkaException:
                if self._stopping.is_set():
                    return 0

    def _listen(self, consumer: Consumer) -> None:
        """Hear when the next tick is due, if there is word on it."""
        message = consumer.poll(_POLL_SECONDS)
        if message is None or message.error() is not None:
            return
        try:
            told = decode_loop(json.loads(message.value() or b""), self._checkpoint)
        except (ValueError, TypeError, AttributeError, Refusal):
            return
        if isinstance(told, Due):
            self._due = told.at
