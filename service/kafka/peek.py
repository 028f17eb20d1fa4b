"""The last messages of the topics that a source would read."""

from __future__ import annotations

from sde.decoding import Messages
from sde.decoding.mapping import Mapper
from sde.wire import Code, Refusal
from sde.wire.sources import Preview
from service.kafka.config import KafkaSettings
from service.kafka.errors import KafkaFailure
from service.kafka.fetch import FetchOptions, fetch
from service.kafka.logs import LogEnds

_PATIENCE = 5.0  # seconds: requests wait meanwhile
_MOST_PARTITIONS = 20
_MOST_BYTES = 4 << 20


def read_beside(mapper: Mapper) -> FetchOptions:
    """What a mapping reads of messages beside their payloads."""
    return {"keys": mapper.reads_keys, "headers": mapper.reads_headers}


def peek(kafka: KafkaSettings, request: Preview) -> list[Messages]:
    """At most `limit` messages of each of some partitions; Refusal if there are none to see."""
    mapper = Mapper(request)
    logs = LogEnds(kafka, [] if "*" in request.topic else [request.topic], _PATIENCE)
    if "*" in request.topic:
        logs.look_for([], lambda topic: not topic.startswith("__") and request.reads(topic))
    try:
        places = logs.partitions()[:_MOST_PARTITIONS]
        starts, ends = logs.starts(places), logs.ends_of(places)
        seen: list[Messages] = []
        for topic, partition in places:
            end = ends[topic, partition]
            start = max(starts[topic, partition], end - request.limit)
            seen += fetch(
                kafka,
                topic,
                partition,
                start,
                end,
                max_bytes=_MOST_BYTES,
                patience=_PATIENCE,
                **read_beside(mapper),
            )
    except KafkaFailure as failure:
        raise Refusal(Code.INTERNAL, f"the topic cannot be read: {failure}"[:300]) from None
    if not places:
        raise Refusal(
            Code.BAD_REQUEST, f"topic={request.topic!r}: expected a topic that exists", "topic"
        )
    return seen
