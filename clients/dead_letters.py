"""How often each fault occurred of late: the end of the dead-letter topic, counted."""

from __future__ import annotations

import time
from collections import Counter

import orjson
from confluent_kafka import Consumer, KafkaException, TopicPartition

from clients.errors import Unreachable
from clients.kafka_config import KafkaSettings, consumer_config

_MOST = 1000  # messages of a partition that are looked at
_SECONDS = 3.0  # for an answer of Kafka, and for all messages together
_AT_ONCE, _SECONDS_A_POLL = 500, 0.1


def recent_faults(settings: KafkaSettings, topic: str, seconds: float) -> Counter[str]:
    """By code, in the last so many seconds; at most the last thousand of each partition."""
    try:
        consumer = Consumer(consumer_config(settings))
    except KafkaException as error:
        raise Unreachable(f"Kafka's settings: {error.args[0].str()}") from error
    try:
        return _count(consumer, topic, round((time.time() - seconds) * 1000))
    finally:
        consumer.close()


def _count(consumer: Consumer, topic: str, since_ms: int) -> Counter[str]:
    found: Counter[str] = Counter()
    starts, ends = _places(consumer, topic, since_ms)
    if not starts:
        return found
    consumer.assign(starts)
    deadline = time.monotonic() + _SECONDS
    while ends and time.monotonic() < deadline:
        for message in consumer.consume(_AT_ONCE, _SECONDS_A_POLL):
            if message.error() is None:
                found.update(_codes(message.value() or b""))
        for at in consumer.position(starts):  # also behind marks of transactions
            if at.offset >= ends.get(at.partition, 0):
                ends.pop(at.partition, None)
    return found


def _places(
    consumer: Consumer, topic: str, since_ms: int
) -> tuple[list[TopicPartition], dict[int, int]]:
    """Where to begin in each partition that has such messages, and the offsets of their ends.

    Asked again for a while: a partition whose leader moves, or that is so new that it has none,
    answers a moment later.
    """
    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            numbers = consumer.list_topics(topic, _SECONDS).topics[topic].partitions
            wanted = [TopicPartition(topic, number, since_ms) for number in numbers]
            starts = [at for at in consumer.offsets_for_times(wanted, _SECONDS) if at.offset >= 0]
            ends = {at.partition: consumer.get_watermark_offsets(at, _SECONDS)[1] for at in starts}
            break
        except KafkaException as error:
            if time.monotonic() >= deadline:
                raise Unreachable(f"topic {topic!r}: {error.args[0].str()}") from error
            time.sleep(_SECONDS_A_POLL)
    for at in starts:
        at.offset = max(at.offset, ends[at.partition] - _MOST)
    return starts, ends


def _codes(payload: bytes) -> list[str]:
    """The code of a letter, or of a reply that refuses; other replies have none."""
    try:
        message = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return ["unknown"]
    if not isinstance(message, dict):
        return ["unknown"]
    return [] if message.get("status") == "ok" else [str(message.get("code", "unknown"))]
