"""The topics of an engine: created when they are missing, checked when they are there."""

from __future__ import annotations

from collections.abc import Callable

from service.kafka.topics import (
    TIMESTAMP_TYPE,
    TopicSpec,
    ensure_topics,
    topics_with_producers_times,
)
from service.settings import Settings

_LARGEST_MESSAGE = 16 << 20
_OUTBOUND_RETENTION = 86_400_000  # ms: for peers that are down
# What the engine tells itself must wait for as long as it is down, so time deletes nothing. While
# it runs it reads at once, and what is older may go.
_UNION_BYTES, _UNION_SEGMENT_BYTES = 512 << 20, 64 << 20


def prepare_topics(settings: Settings, report: Callable[[str], None]) -> None:
    """Called when an engine starts. `report` gets a line about what the user should know."""
    ensure_topics(settings.kafka_config, topic_specs(settings))
    names = [*settings.topics.data, settings.topics.requests]
    by_producers = topics_with_producers_times(settings.kafka_config, names)
    if by_producers:
        report(
            f"the times of messages in {', '.join(by_producers)} are those of their producers: a "
            f"producer whose clock is wrong moves windows; set {TIMESTAMP_TYPE}=LogAppendTime"
        )


def topic_specs(settings: Settings) -> list[TopicSpec]:
    """Only data topics may have several partitions: most others have one order for all.

    Messages that are read get their time from the broker: arrival is what one clock says.
    """
    topics = settings.topics
    large = {"max.message.bytes": str(_LARGEST_MESSAGE)}
    timed = {**large, TIMESTAMP_TYPE: "LogAppendTime"}
    union = {
        **timed,
        "retention.ms": "-1",
        "retention.bytes": str(_UNION_BYTES),
        "segment.bytes": str(_UNION_SEGMENT_BYTES),
    }
    outbound = {**timed, "retention.ms": str(_OUTBOUND_RETENTION)}

    def own(name: str, config: dict[str, str]) -> TopicSpec:
        return TopicSpec(name, 1, config, one_order=True, needed_bytes=_LARGEST_MESSAGE)

    return [
        *(TopicSpec(name, topics.data_partitions, timed) for name in topics.data),
        TopicSpec(topics.requests, 1, timed, one_order=True),
        own(topics.union, union),
        own(topics.peers, outbound),
        own(topics.outbound, outbound),
        TopicSpec(topics.output, 1, large),
        TopicSpec(topics.dead_letters, 1, large),
        *(TopicSpec(name, 1, large) for name in [topics.logging] if name),
        TopicSpec(topics.commits, 1, {"cleanup.policy": "compact"}, one_order=True),
    ]
