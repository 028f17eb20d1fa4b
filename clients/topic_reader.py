"""Reads every committed message of one topic, without a consumer group."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from clients.errors import Unreachable
from clients.kafka_config import KafkaSettings, consumer_config

SECONDS_TO_CONNECT = 10.0
SECONDS_TO_LOOK_AGAIN = 1.0  # short: answers wait meanwhile, if the broker does not reply
SECONDS_BETWEEN_LOOKS_FOR_PARTITIONS = 30.0


class TopicReader:
    """From the topic's end as it is now, or from its beginning; partitions added later too."""

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        *,
        from_beginning: bool = False,
        seconds_to_connect: float = SECONDS_TO_CONNECT,
    ) -> None:
        self.trouble = ""
        self._topic = topic
        self._servers = settings.get("bootstrap.servers")
        try:
            self._consumer = Consumer(consumer_config(settings), error_cb=self._note)
        except KafkaException as error:
            raise Unreachable(f"Kafka's settings: {error.args[0].str()}") from error
        self._partitions: set[int] = set()
        self._next_look = 0.0
        try:
            self._add_partitions(from_beginning, seconds_to_connect)
        except Unreachable:
            self._consumer.close()
            raise

    def poll(self, seconds: float) -> bytes | None:
        """The next message, or None if none comes within `seconds`."""
        if time.monotonic() >= self._next_look:
            try:
                self._add_partitions(True, SECONDS_TO_LOOK_AGAIN)
            except Unreachable as error:
                self.trouble = str(error)
        message = self._consumer.poll(seconds)
        if message is None:
            return None
        trouble = message.error()
        if trouble is not None:
            self._note(trouble)
            return None
        self.trouble = ""  # it is over
        return message.value()

    def close(self) -> None:
        self._consumer.close()

    def _add_partitions(self, from_beginning: bool, seconds: float) -> None:
        self._next_look = time.monotonic() + SECONDS_BETWEEN_LOOKS_FOR_PARTITIONS
        deadline = time.monotonic() + seconds
        while True:
            try:
                new = self._new_partitions(from_beginning, seconds)
                break
            except KafkaException as error:
                self._consumer.poll(0)  # lets librdkafka tell the reason, which it knows better
                if time.monotonic() >= deadline:
                    reason = self.trouble or error.args[0].str()
                    raise Unreachable(f"Kafka at {self._servers}: {reason}") from error
                time.sleep(0.1)  # such as a topic so new that it has no leader yet
        if new:
            self._consumer.incremental_assign(new)
            self._partitions |= {partition.partition for partition in new}

    def _new_partitions(self, from_beginning: bool, seconds: float) -> list[TopicPartition]:
        found = self._consumer.list_topics(self._topic, seconds).topics[self._topic]
        if found.error is not None:
            raise without_topic(self._topic, self._servers, found.error)
        new = [TopicPartition(self._topic, n) for n in found.partitions.keys() - self._partitions]
        for partition in new:
            low, high = self._consumer.get_watermark_offsets(partition, seconds)
            partition.offset = low if from_beginning else high
        return new

    def _note(self, error: KafkaError) -> None:
        # That all brokers are down says less than why the last one is.
        if error.code() != KafkaError._ALL_BROKERS_DOWN or not self.trouble:
            self.trouble = error.str()


def without_topic(topic: str, servers: object, error: KafkaError) -> Unreachable:
    """A broker that has no such topic, or does not show it."""
    return Unreachable(
        f"topic {topic!r} at {servers}: {error.str()}; is an engine running with this broker? If"
        " its topics have other names, say them: topics= of Client, --topic in the shell"
    )
