"""Makes sure that the topics the engine needs are there. Existing ones are left as they are."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from service.startup_errors import TopicError

_SECONDS_FOR_AN_ANSWER = 30.0
_BROKERS_DEFAULT = -1


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic to create if it is missing; its replication is the broker's default."""

    name: str
    partitions: int = 1
    config: Mapping[str, str] = field(default_factory=dict)


def ensure_topics(client_config: Mapping[str, Any], topics: Sequence[TopicSpec]) -> None:
    """Creates the missing `topics` and returns when all of them can be written.

    `client_config` goes to librdkafka as it is: `bootstrap.servers` and any security setting.
    """
    servers = client_config.get("bootstrap.servers")
    try:
        admin = AdminClient(dict(client_config))
        existing = _ready_topics(admin)
        missing = [topic for topic in topics if topic.name not in existing]
        if missing:
            _create(admin, missing)
            _wait_for({topic.name for topic in missing}, admin)
    except KafkaException as error:
        raise TopicError(f"bootstrap.servers={servers!r}: {_reason(error)}") from error


def _ready_topics(admin: AdminClient) -> set[str]:
    found = admin.list_topics(timeout=_SECONDS_FOR_AN_ANSWER).topics
    return {name for name, topic in found.items() if _has_leaders(topic)}


def _has_leaders(topic: Any) -> bool:
    partitions = topic.partitions.values()
    return topic.error is None and all(partition.leader >= 0 for partition in partitions)


def _create(admin: AdminClient, topics: Sequence[TopicSpec]) -> None:
    new = [
        NewTopic(
            topic.name,
            num_partitions=topic.partitions,
            replication_factor=_BROKERS_DEFAULT,
            config=dict(topic.config),
        )
        for topic in topics
    ]
    futures = admin.create_topics(new, operation_timeout=_SECONDS_FOR_AN_ANSWER)
    for topic in topics:
        try:
            futures[topic.name].result()
        except KafkaException as error:
            # Another process may be starting at the same moment; its topic is as good as ours.
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise TopicError(f"{topic}: {_reason(error)}") from error


def _wait_for(names: set[str], admin: AdminClient) -> None:
    deadline = time.monotonic() + _SECONDS_FOR_AN_ANSWER
    while absent := names - _ready_topics(admin):
        if time.monotonic() > deadline:
            raise TopicError(
                f"topics {sorted(absent)}: created, but without a leader"
                f" after {_SECONDS_FOR_AN_ANSWER:g} s"
            )
        time.sleep(0.05)


def _reason(error: KafkaException) -> str:
    cause = error.args[0]
    return str(cause.str() if isinstance(cause, KafkaError) else cause)
