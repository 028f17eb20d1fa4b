"""The forwarder: carries frames from this site's outbound topic to the brokers of its peers.

Each peer has a thread, a place in the topic and a producer of its own: one that is down keeps
only its own messages waiting, and they wait in Kafka, not here. The place moves on after delivery,
so that a crash may deliver again, never lose; sites recognise what they have seen.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from sde.federation.frames import REQUEST, is_frame
from service.kafka.config import Config, admin_config, consumer_config
from service.peer_settings import Peer
from service.settings import Settings

_log = logging.getLogger(__name__)
_POLL_SECONDS = 0.2
_MOST_AT_ONCE = 100  # messages that are on their way to one peer
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0  # seconds after a failure
_HOPELESS = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG)


class Forwarder:
    """Runs between `start` and `stop`; `checkpoint` names the places in the outbound topic."""

    def __init__(self, settings: Settings, checkpoint: str) -> None:
        self._lines = [
            _Line(settings, checkpoint, name, peer) for name, peer in settings.peers.items()
        ]

    def start(self) -> None:
        for line in self._lines:
            line.start()

    def stop(self) -> None:
        for line in self._lines:
            line.stopping.set()
        for line in self._lines:
            line.join()


class _Line(threading.Thread):
    """To one peer."""

    def __init__(self, settings: Settings, checkpoint: str, name: str, peer: Peer) -> None:
        super().__init__(name=f"forwarder to {name}", daemon=True)
        self._site, self._peer = name, peer
        self._topic = settings.topics.outbound
        self._from: Config = {
            **consumer_config(settings.kafka_config),
            "group.id": f"{checkpoint}-to-{name}",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
            "queued.min.messages": _MOST_AT_ONCE,
            "log_level": 0,
        }
        self._to: Config = {
            **admin_config(peer.kafka_config),
            "enable.idempotence": True,
            "message.timeout.ms": 0,  # a peer that is down is waited for
            "message.max.bytes": 32 << 20,
            "linger.ms": 0,
            "log_level": 0,
        }
        self.stopping = threading.Event()
        self._pause = _SHORTEST_PAUSE

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                self._carry()
            except KafkaException as error:
                _log.warning("forwarding to %s: %s", self._site, error)
                self.stopping.wait(self._pause)
                self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def _carry(self) -> None:
        """Until something fails or the end."""
        consumer, producer = Consumer(dict(self._from)), Producer(dict(self._to))
        try:
            consumer.assign([self._place(consumer)])
            while not self.stopping.is_set():
                messages = consumer.consume(_MOST_AT_ONCE, _POLL_SECONDS)
                read = [m for m in messages if _is_good(m)]
                if not read:
                    continue
                self._deliver(producer, [m for m in read if self._is_for_peer(m)])
                if self.stopping.is_set():
                    return
                offset = (read[-1].offset() or 0) + 1
                consumer.commit(
                    offsets=[TopicPartition(self._topic, 0, offset)], asynchronous=False
                )
                self._pause = _SHORTEST_PAUSE
        finally:
            producer.purge()
            consumer.close()

    def _place(self, consumer: Consumer) -> TopicPartition:
        """Where this line stands in the topic; at its beginning if it never delivered."""
        (place,) = consumer.committed([TopicPartition(self._topic, 0)], timeout=10)
        if place.offset < 0:
            place.offset = consumer.get_watermark_offsets(place, timeout=10)[0]
        return place

    def _is_for_peer(self, message: Message) -> bool:
        return message.key() == self._site.encode() and is_frame(message.value() or b"")

    def _deliver(self, producer: Producer, messages: list[Message]) -> None:
        """Return when all are there; KafkaException if that has to be tried again."""
        failures: list[KafkaError] = []

        def told(error: KafkaError | None, _: Any) -> None:
            if error is None:
                return
            if error.code() in _HOPELESS:
                _log.error("a message to %s was dropped: %s", self._site, error)
            else:
                failures.append(error)

        for message in messages:
            value = message.value() or b""
            topic = self._peer.requests if value.startswith(REQUEST) else self._peer.union
            producer.produce(topic, value, on_delivery=told)
        while producer.flush(_POLL_SECONDS):
            if self.stopping.is_set():
                return
        if failures:
            raise KafkaException(failures[0])


def _is_good(message: Message) -> bool:
    error = message.error()
    if error is None:
        return True
    if error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    return False
