"""A thread that follows a topic beside the query: the base class of clock, examiner and forwarder.

The threads run in the process that started the engine, next to Spark's driver. They talk to the
query through topics only.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from typing import Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from service.kafka.config import Config

_log = logging.getLogger(__name__)
_PARTITION = 0  # the topics between engine and threads have one
_KAFKA_SECONDS = 5.0
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0  # seconds after a failure

First = Literal["beginning", "end"]


class TopicFollower(ABC):
    """Reads a topic of one partition in a thread of its own, between `start` and `stop`.

    No exception ends the thread. After a failure of Kafka it connects again and goes on with the
    message after the last one that was handled. Any other exception is a defect in `on_poll`: it is
    logged and counted in `defects`, and the messages of that call are passed over.

    With a `group`, the position is committed to Kafka under that name, and the next run goes on
    from there; `first` says where a group without a position begins. Without a group every run
    begins at the end of the topic.
    """

    def __init__(
        self,
        name: str,
        topic: str,
        kafka: Config,
        *,
        group: str = "",
        first: First = "end",
        poll_seconds: float = 0.2,
        most_at_once: int = 1,
    ) -> None:
        self.stopping = threading.Event()
        self.defects = 0
        self._topic, self._group, self._first = topic, group, first
        self._kafka: Config = {
            **kafka,
            "auto.offset.reset": "earliest",
            # It only ever reads on: the broker holds the fetch back until something comes, and
            # an idle engine asks it once a second instead of a hundred times.
            "fetch.wait.max.ms": 1000,
        }
        if group:
            self._kafka["group.id"] = group
        self._poll_seconds, self._most_at_once = poll_seconds, most_at_once
        self._next: int | None = None  # offset to go on from; None before the first connection
        self._pause = _SHORTEST_PAUSE
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def on_poll(self, messages: list[Message]) -> bool:
        """Called in the thread after each poll, also when no message came.

        Return whether the messages are done with: the position behind them is committed then.
        Raise KafkaException to get the same messages again.
        """

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Return when the call of `on_poll` that runs, if one does, is over."""
        self.stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self.stopping.is_set():
            try:
                self._follow()
            except KafkaException as error:
                _log.warning("%s: %s; connecting again", self._thread.name, error)
                self.stopping.wait(self._pause)
                self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def _follow(self) -> None:
        """Handle messages until Kafka fails or the thread is to stop."""
        consumer = Consumer(dict(self._kafka))
        try:
            if self._next is None:
                self._next = self._first_offset(consumer)
            consumer.assign([self._position(self._next)])
            while not self.stopping.is_set():
                polled = consumer.consume(self._most_at_once, self._poll_seconds)
                messages = [message for message in polled if _is_message(message)]
                done = self._handle(messages)
                if messages:
                    self._next = (messages[-1].offset() or 0) + 1
                    self._pause = _SHORTEST_PAUSE
                    if done and self._group:
                        consumer.commit(offsets=[self._position(self._next)], asynchronous=False)
        finally:
            consumer.close()

    def _handle(self, messages: list[Message]) -> bool:
        try:
            return self.on_poll(messages)
        except KafkaException:
            raise
        except Exception:
            self.defects += 1
            _log.exception("%s: %d messages are passed over", self._thread.name, len(messages))
            self.stopping.wait(_SHORTEST_PAUSE)
            return False

    def _first_offset(self, consumer: Consumer) -> int:
        """The committed position, or where the settings say that a new follower begins."""
        place = self._position(0)
        if self._group:
            (committed,) = consumer.committed([place], _KAFKA_SECONDS)
            if committed.offset >= 0:
                return int(committed.offset)
        beginning, end = consumer.get_watermark_offsets(place, _KAFKA_SECONDS)
        if self._first == "beginning":
            return int(beginning)
        if self._group:  # else messages that come before the first commit would be missed
            consumer.commit(offsets=[self._position(end)], asynchronous=False)
        return int(end)

    def _position(self, offset: int) -> TopicPartition:
        return TopicPartition(self._topic, _PARTITION, offset)


def _is_message(message: Message) -> bool:
    """False for the end of the partition; KafkaException for any other error."""
    error = message.error()
    if error is None:
        return True
    if error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    return False
