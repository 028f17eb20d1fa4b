"""librdkafka configurations of the clients; sde.wire.kafka_settings says what overrides what."""

from __future__ import annotations

from typing import Any

from clients.kafka_log import LOGGER
from sde.wire.kafka_settings import CONSUMER_RULES, PRODUCER_RULES, Config, combined
from sde.wire.kafka_settings import KafkaSettings as KafkaSettings

_CONSUMER_TUNING: Config = {
    "group.id": "sde-client",  # librdkafka wants one; no group is joined, no offset committed
    # The broker ends a fetch as soon as there is an answer: it came 2 to 4 ms (median) after its
    # commit with 20, 100 and 500 alike. Only a partition added later waits for a fetch in flight.
    "fetch.wait.max.ms": 100,
}
_CONSUMER_RULES: Config = {
    **CONSUMER_RULES,
    "auto.offset.reset": "earliest",  # answers lost to retention: go on with what is left
}
_REQUEST_TUNING: Config = {
    "linger.ms": 0,
    # A request nobody waits for any more must not be carried out minutes later.
    "message.timeout.ms": 30_000,
}
_DATA_TUNING: Config = {
    "linger.ms": 20,
    "message.max.bytes": 16 << 20,
    "queue.buffering.max.kbytes": 64 << 10,  # beyond this, sending waits for the broker
    "message.timeout.ms": 30_000,
}
_ONLY_ERRORS: Config = {"delivery.report.only.error": True}


def consumer_config(settings: KafkaSettings) -> dict[str, Any]:
    return _with_logger(combined(_CONSUMER_TUNING, settings, _CONSUMER_RULES))


def request_config(settings: KafkaSettings) -> dict[str, Any]:
    return _with_logger(combined(_REQUEST_TUNING, settings, {**PRODUCER_RULES, **_ONLY_ERRORS}))


def data_config(settings: KafkaSettings, is_told_of_all: bool = False) -> dict[str, Any]:
    """`is_told_of_all`: each message is reported that is delivered, not only those that are not."""
    reports: Config = {} if is_told_of_all else _ONLY_ERRORS
    return _with_logger(combined(_DATA_TUNING, settings, {**PRODUCER_RULES, **reports}))


def admin_config(settings: KafkaSettings) -> dict[str, Any]:
    return _with_logger(combined({}, settings, {}))


def _with_logger(config: Config) -> dict[str, Any]:
    return {**config, "logger": LOGGER}
