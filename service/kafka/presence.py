"""Whether Kafka can be used: one small question, whose answer nobody has to wait for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException, TopicCollection

from service.kafka.access import REFUSALS, check_access
from service.kafka.admins import admin, forget_admin, heard
from service.kafka.config import KafkaSettings
from service.kafka.errors import AccessRefused
from service.kafka.logs import TRANSIENT

_DETAILS = re.compile(r"^\S+: | \(after \d+ms in state \w+.*\)$")  # which connection, and when
# What librdkafka says if there is somebody who answers, though not as it wants.
_SPEAKS, _ALERT = {*REFUSALS, KafkaError._ALL_BROKERS_DOWN}, "alert"
_SECONDS = 5.0  # until no answer is an answer


class PresenceQuestion:
    """Asked when it is made; look at `problem` when it is `answered`.

    All questions use one client, until there is a problem: a client that knew the brokers before
    they went away would take long to find them again.
    """

    def __init__(self, settings: KafkaSettings, topics: Iterable[str]) -> None:
        self._settings = settings
        self._answers = admin(settings).describe_topics(
            TopicCollection(sorted(set(topics))), request_timeout=_SECONDS
        )

    @property
    def answered(self) -> bool:
        return all(answer.done() for answer in self._answers.values())

    def problem(self) -> str:
        """Why Kafka cannot be used, if waiting may help; "" if it answers and topics have leaders.

        A topic that is missing, or may not be looked at, is no such reason: who uses it says so.
        AccessRefused if Kafka does not let us in.
        """
        for topic, answer in self._answers.items():
            try:
                partitions = answer.result().partitions
            except KafkaException as exception:
                error: KafkaError = exception.args[0]
                missing = error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
                if error.code() in TRANSIENT and not missing:
                    return self._why_silent(error)
            else:
                if any(partition.leader is None for partition in partitions):
                    return f"topic {topic} has a partition without a leader"
        return ""

    def _why_silent(self, error: KafkaError) -> str:
        reason = heard(self._settings) or error
        text = _DETAILS.sub("", reason.str())
        forget_admin(self._settings)
        if reason.code() in _SPEAKS or _ALERT in text:
            check_access(self._settings)
        if reason.code() in REFUSALS:
            raise AccessRefused(f"Kafka refuses us: {text}.")
        return text
