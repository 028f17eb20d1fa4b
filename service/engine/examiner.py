"""Examines plug-ins beside the query, so that no batch waits for it.

Merge writes a plug-in that waits to the union topic; a thread here reads it, examines it in a
process of its own and writes the outcome back, for all shards. What was not finished when the
engine ended is done when it starts again. Every decision is in logs/plugins.log.
"""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from sde.plugins.admission import admit, log
from sde.wire import Refusal
from sde.wire.loop import Admit, decode_loop, loop_json
from service.kafka.config import consumer_config
from service.settings import Settings

_POLL_SECONDS = 0.2
_KAFKA_SECONDS = 10.0


class Admission:
    """Runs in a thread of its own between `start` and `stop`."""

    def __init__(self, settings: Settings, checkpoint: str) -> None:
        self._settings, self._checkpoint = settings, checkpoint
        self._place = TopicPartition(settings.topics.union, 0)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="admission", daemon=True)
        self._file = _log_to(settings.data_dir / "logs" / "plugins.log")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        log.removeHandler(self._file)
        self._file.close()

    def _run(self) -> None:
        kafka = {**consumer_config(self._settings.kafka_config), "log_level": 0}
        group = {"group.id": f"{self._checkpoint}-admission", "enable.auto.commit": False}
        consumer = Consumer({**kafka, **group, "auto.offset.reset": "earliest"})
        producer = Producer({**self._settings.kafka_config, "linger.ms": 0, "log_level": 0})
        try:
            if not self._begin(consumer):
                return
            while not self._stopping.is_set():
                message = consumer.poll(_POLL_SECONDS)
                if message is not None and message.error() is None:
                    self._on_message(message, consumer, producer)
        finally:
            consumer.close()

    def _begin(self, consumer: Consumer) -> bool:
        """Go on where this checkpoint's examiner was; a new one begins with what comes now."""
        topic, partition = self._place.topic, self._place.partition
        while not self._stopping.is_set():
            try:
                (held,) = consumer.committed([self._place], _KAFKA_SECONDS)
                if held.offset < 0:
                    _, end = consumer.get_watermark_offsets(self._place, _KAFKA_SECONDS)
                    held = TopicPartition(topic, partition, end)
                    consumer.commit(offsets=[held], asynchronous=False)
                consumer.assign([held])
                return True
            except KafkaException:
                self._stopping.wait(1.0)
        return False

    def _on_message(self, message: Message, consumer: Consumer, producer: Producer) -> None:
        try:
            told = decode_loop(json.loads(message.value() or b""), self._checkpoint)
        except (ValueError, TypeError, AttributeError, Refusal):
            return
        if not isinstance(told, Admit):
            return
        admitted = admit(told, self._settings.trust, self._settings.limits)
        body = json.dumps(loop_json(admitted, self._checkpoint))
        producer.produce(self._place.topic, body)
        offset = message.offset()
        if producer.flush(_KAFKA_SECONDS) == 0 and offset is not None:
            done = TopicPartition(self._place.topic, self._place.partition, offset + 1)
            try:
                consumer.commit(offsets=[done], asynchronous=False)
            except KafkaException as error:
                log.warning("the examiner's place was not kept: %s", error)


def _log_to(path: Path) -> logging.Handler:
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    log.propagate = False
    return handler
