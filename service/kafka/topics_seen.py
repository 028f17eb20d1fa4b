"""What ingest asks about topics of others: which there are, and their last messages."""

from __future__ import annotations

from collections.abc import Collection

from confluent_kafka import KafkaException

from sde.decoding import Messages
from sde.decoding.mapping import Mapper
from sde.wire import Code, Refusal
from sde.wire.sources import Preview
from service.kafka.admins import admin
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


class TopicsSeen:
    """See `sde.stages.ingest.Topics`. Made for the requests of one chunk, which see the same.

    Topics in `own`, which the engine uses itself, are not for sources.
    """

    def __init__(self, kafka: KafkaSettings, own: Collection[str]) -> None:
        self._kafka, self._own = kafka, frozenset(own)
        self._names: list[str] | None = None

    def names(self) -> list[str] | None:
        if self._names is None:
            try:
                found = admin(self._kafka).list_topics(timeout=_PATIENCE).topics
            except KafkaException:
                return None
            self._names = sorted(found.keys() - self._own)
        return self._names

    def last_messages(self, request: Preview) -> list[Messages]:
        """At most `limit` messages of each of some partitions; Refusal if there are none to see."""
        mapper = Mapper(request)
        logs = LogEnds(self._kafka, [] if "*" in request.topic else [request.topic], _PATIENCE)
        if "*" in request.topic:
            logs.look_for([], lambda topic: topic not in self._own and request.reads(topic))
        try:
            places = logs.partitions()[:_MOST_PARTITIONS]
            starts, ends = logs.starts(places), logs.ends_of(places)
            seen: list[Messages] = []
            for topic, partition in places:
                end = ends[topic, partition]
                start = max(starts[topic, partition], end - request.limit)
                seen += fetch(
                    self._kafka,
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
