"""The topics of an engine, as they are created when they are missing."""

from __future__ import annotations

from service.kafka.topics import TopicSpec
from service.settings import Settings

_LARGEST_MESSAGE = str(16 << 20)
_UNION_RETENTION = 86_400_000  # ms: it is read at once, but an engine, or a peer, may be down


def topic_specs(settings: Settings) -> list[TopicSpec]:
    """Only data topics may have several partitions: the others each have one order for all."""
    topics = settings.topics
    large = {"max.message.bytes": _LARGEST_MESSAGE}
    waits = {**large, "retention.ms": str(_UNION_RETENTION)}
    own_time = {"message.timestamp.type": "LogAppendTime"}  # what others say of it does not count
    return [
        *(TopicSpec(name, topics.data_partitions, large) for name in topics.data),
        TopicSpec(topics.requests, 1, large),
        TopicSpec(topics.union, 1, waits),
        TopicSpec(topics.peers, 1, {**waits, **own_time}),
        TopicSpec(topics.outbound, 1, waits),
        TopicSpec(topics.output, 1, large),
        TopicSpec(topics.dead_letters, 1, large),
        *(TopicSpec(name, 1, large) for name in [topics.logging] if name),
        TopicSpec(topics.commits, 1, {"cleanup.policy": "compact"}),
    ]
