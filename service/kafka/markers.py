"""Which batch of a query was written last: markers in a compacted topic.

A marker is written in the transaction of the replies it stands for, so the two are there together
or not at all.
"""

from __future__ import annotations

import logging
from typing import Annotated

import msgspec

from service.kafka.config import KafkaSettings
from service.kafka.logs import LogEnds
from service.kafka.topics import TopicSpec, ensure_topics

_log = logging.getLogger(__name__)
_FIRST_LOOK = 1000
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
    query must not hide a marker that lies behind it. The fetch waits until it is decided.
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
    from service.kafka.fetch import fetch

    found, foreign = NOTHING_WRITTEN, 0
    for messages in fetch(settings, topic, 0, start, end, patience=patience):
        for i in range(len(messages)):
            written = _read(messages.payload(i))
            if written is None:
                foreign += 1
            elif written.query == query:
                found = max(found, written.batch)
    if foreign:
        _log.warning("topic %s: %d messages that are no markers are passed over", topic, foreign)
    return found


def _read(payload: bytes) -> Marker | None:
    """None for what somebody else wrote to the topic."""
    try:
        return msgspec.json.decode(payload, type=Marker)
    except (msgspec.DecodeError, RecursionError):
        return None
