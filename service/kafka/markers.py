"""Which batch of a query was written last: markers in a compacted topic.

A marker is written in the transaction of the replies it stands for, so the two are there together
or not at all.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Annotated

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from service.kafka.config import KafkaSettings, consumer_config
from service.kafka.logs import LogEnds
from service.kafka.topics import TopicSpec, ensure_topics

_log = logging.getLogger(__name__)
_FIRST_LOOK = 1000
_AT_ONCE, _WAIT_SECONDS = 1000, 0.1
_TOPIC_CONFIG = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20)}
NOTHING_WRITTEN = -1


class Marker(msgspec.Struct, frozen=True):
    """The replies of a batch are written."""

    query: str
    batch: Annotated[int, msgspec.Meta(ge=0)]


def marker(query: str, batch: int) -> bytes:
    return msgspec.json.encode(Marker(query, batch))


def ensure_topic(settings: KafkaSettings, topic: str, patience: float) -> None:
    """Creates the topic of the markers if there is none: one partition, compacted."""
    if not LogEnds(settings, [topic], patience).partitions():  # waits for a broker that is away
        ensure_topics(settings, [TopicSpec(topic, partitions=1, config=_TOPIC_CONFIG)])


def last_batch(settings: KafkaSettings, topic: str, query: str, patience: float) -> int:
    """The largest batch id with a committed marker of the query, or NOTHING_WRITTEN.

    Reads to the high watermark, not to the last stable offset: an open transaction of another
    query must not hide a marker that lies behind it. Reading waits until it is decided.
    """
    key = (topic, 0)
    logs = LogEnds(settings, [topic], patience)
    first, end = logs.starts([key])[key], logs.high_watermarks([key])[key]
    look = _FIRST_LOOK
    while end > first:  # backwards: the marker is nearly always among the last
        start = max(first, end - look)
        found = _largest(settings, topic, query, start, end, patience)
        if found != NOTHING_WRITTEN:
            return found
        end, look = start, look * 10
    return NOTHING_WRITTEN


def _largest(
    settings: KafkaSettings, topic: str, query: str, start: int, end: int, patience: float
) -> int:
    found, foreign = NOTHING_WRITTEN, 0
    for payload in _payloads(settings, topic, start, end, patience):
        written = _read(payload)
        if written is None:
            foreign += 1
        elif written.query == query:
            found = max(found, written.batch)
    if foreign:
        _log.warning("topic %s: %d messages that are no markers are passed over", topic, foreign)
    return found


def _payloads(
    settings: KafkaSettings, topic: str, start: int, end: int, patience: float
) -> Iterator[bytes]:
    """The committed messages with start <= offset < end; KafkaException if they do not come.

    By Kafka's own consumer: `service.kafka.fetch` needs numba, and loading that would take most of
    a second of every start.
    """
    consumer = Consumer(consumer_config(settings))
    error = KafkaError(KafkaError._TIMED_OUT, f"topic {topic} cannot be read to offset {end}")
    try:
        consumer.assign([TopicPartition(topic, 0, start)])
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            for message in consumer.consume(_AT_ONCE, _WAIT_SECONDS):
                found, offset = message.error(), message.offset() or 0
                # Of its end a partition tells the offset, also behind what is no message.
                if (found is None or found.code() == KafkaError._PARTITION_EOF) and offset >= end:
                    return
                if found is None:
                    yield message.value() or b""
                else:
                    error = found
        raise KafkaException(error)
    finally:
        consumer.close()


def _read(payload: bytes) -> Marker | None:
    """None for what somebody else wrote to the topic."""
    try:
        return msgspec.json.decode(payload, type=Marker)
    except (msgspec.DecodeError, RecursionError):
        return None
