"""Whether Kafka can be used: one small question, whose answer nobody has to wait for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from service.kafka.config import KafkaSettings, admin_config
from service.kafka.logs import TRANSIENT

_DETAILS = re.compile(r"^\S+: | \(after \d+ms in state \w+.*\)$")  # which connection, and when
_SECONDS = 5.0  # until no answer is an answer


class PresenceQuestion:
    """Asked when it is made; look at `problem` when it is `answered`.

    By a client of its own: one that knew the brokers before they went away would take long to
    find them again.
    """

    def __init__(self, settings: KafkaSettings, topics: Iterable[str]) -> None:
        self._heard = ""
        config: dict[str, Any] = {**admin_config(settings), "error_cb": self._hear}
        self._client = AdminClient(config)
        self._answers = self._client.describe_topics(
            TopicCollection(sorted(set(topics))), request_timeout=_SECONDS
        )

    @property
    def answered(self) -> bool:
        return all(answer.done() for answer in self._answers.values())

    def problem(self) -> str:
        """Why Kafka cannot be used, if waiting may help; "" if it answers and topics have leaders.

        A topic that is missing, or may not be looked at, is no such reason: who uses it says so.
        """
        self._client.poll(0)  # lets librdkafka tell the reason, which it knows better
        for topic, answer in self._answers.items():
            try:
                partitions = answer.result().partitions
            except KafkaException as exception:
                error: KafkaError = exception.args[0]
                missing = error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
                if error.code() in TRANSIENT and not missing:
                    return self._heard or error.str()
            else:
                if any(partition.leader is None for partition in partitions):
                    return f"topic {topic} has a partition without a leader"
        return ""

    def _hear(self, error: KafkaError) -> None:
        # That all brokers are down says less than why the last one is.
        if error.code() != KafkaError._ALL_BROKERS_DOWN or not self._heard:
            self._heard = _DETAILS.sub("", error.str())
