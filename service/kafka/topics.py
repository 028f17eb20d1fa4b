"""Makes sure that the topics the engine needs are there and fit. None is changed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from service.kafka.config import admin_config
from service.startup_errors import TopicError

_SECONDS_FOR_AN_ANSWER = 30.0
_BROKERS_DEFAULT = -1
TIMESTAMP_TYPE = "message.timestamp.type"


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic to create if it is missing; its replication is the broker's default.

    One that exists may be otherwise, except: with `one_order` it must have a single partition, and
    it must take messages of `needed_bytes`.
    """

    name: str
    partitions: int = 1
    config: Mapping[str, str] = field(default_factory=dict)
    one_order: bool = False
    needed_bytes: int = 0


def ensure_topics(client_config: Mapping[str, Any], topics: Sequence[TopicSpec]) -> None:
    """Creates the missing `topics` and returns when all of them can be written.

    TopicError if one exists in a form that would lose messages or their order.

    `client_config` goes to librdkafka: `bootstrap.servers` and any security setting.
    """
    servers = client_config.get("bootstrap.servers")
    try:
        admin = AdminClient(admin_config(client_config))
        existing = _ready_topics(admin)
        missing = [topic for topic in topics if topic.name not in existing]
        if missing:
            _create(admin, missing)
            _wait_for({topic.name for topic in missing}, admin)
        _check(topics, admin)
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


def _check(topics: Sequence[TopicSpec], admin: AdminClient) -> None:
    """Whether topics that were there before fit."""
    found = admin.list_topics(timeout=_SECONDS_FOR_AN_ANSWER).topics
    for topic in topics:
        count = len(found[topic.name].partitions) if topic.name in found else 1
        if topic.one_order and count != 1:
            raise TopicError(
                f"topic {topic.name!r} has {count} partitions, expected one: all its messages need "
                "one order. Name another topic in the settings, which is created if it is missing, "
                "or delete this one if nothing in it is needed."
            )
    needed = {topic.name: topic.needed_bytes for topic in topics if topic.needed_bytes}
    for name, config in _configs(list(needed), admin).items():
        largest = int(config.get("max.message.bytes", needed[name]))
        if largest < needed[name]:
            raise TopicError(
                f"topic {name!r} takes messages of {largest} bytes, expected {needed[name]}: set "
                f"its max.message.bytes to {needed[name]}"
            )


def topics_with_producers_times(
    client_config: Mapping[str, Any], topics: Sequence[str]
) -> list[str]:
    """Those whose messages have the time of the producer's clock, not of the broker's."""
    configs = _configs(topics, AdminClient(admin_config(client_config)))
    return [n for n in topics if configs.get(n, {}).get(TIMESTAMP_TYPE) == "CreateTime"]


def _configs(topics: Sequence[str], admin: AdminClient) -> dict[str, dict[str, str]]:
    """The settings of topics, as far as this client may see them."""
    if not topics:
        return {}
    resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in topics]
    found: dict[str, dict[str, str]] = {}
    for resource, future in admin.describe_configs(resources).items():
        try:
            entries = future.result(_SECONDS_FOR_AN_ANSWER)
        except KafkaException:
            continue  # without the right to see them nothing can be said about them
        found[resource.name] = {name: entry.value for name, entry in entries.items()}
    return found


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
