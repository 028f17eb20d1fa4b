"""The last messages of a topic, read again with a consumer of their own."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage

from clients.errors import Unreachable
from clients.kafka_config import KafkaSettings, consumer_config

_MOST_SECONDS = 5.0
_AT_ONCE = 1_000
_POLL_SECONDS = 0.2


class TopicTail:
    """Waits for Kafka: to be used in a thread."""

    def __init__(self, settings: KafkaSettings, topic: str, most: int) -> None:
        self._config = {**consumer_config(settings), "enable.partition.eof": True}
        self._topic, self._most = topic, most

    def read(self, take: Callable[[KafkaMessage], None]) -> bool:
        """Hand over the last messages; False if time was up before the topic's end."""
        consumer = Consumer(self._config)
        try:
            return self._read(consumer, take)
        except KafkaException as error:
            raise Unreachable(f"topic {self._topic!r}: {error.args[0].str()}") from error
        finally:
            consumer.close()

    def _read(self, consumer: Consumer, take: Callable[[KafkaMessage], None]) -> bool:
        deadline = time.monotonic() + _MOST_SECONDS
        numbers = consumer.list_topics(self._topic, _MOST_SECONDS).topics[self._topic].partitions
        left = set(numbers)
        starts = []
        for number in numbers:
            place = TopicPartition(self._topic, number)
            low, high = consumer.get_watermark_offsets(place, _MOST_SECONDS)
            first = max(low, high - self._most // len(numbers))
            starts.append(TopicPartition(self._topic, number, first))
        consumer.assign(starts)
        while left and time.monotonic() < deadline:
            for message in consumer.consume(_AT_ONCE, _POLL_SECONDS):
                error = message.error()
                if error is None:
                    take(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
        return not left
