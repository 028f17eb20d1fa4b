"""librdkafka configurations, made from the one dictionary of settings a user gives.

The user's settings (TLS, SASL, anything librdkafka knows) pass through and override our tuning.
What correctness rests on overrides the user.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

Settings = Mapping[str, str | int | float | bool]

_EVERYWHERE = {
    # A restarted broker is found again within a second (the default is ten).
    "reconnect.backoff.max.ms": 1000,
}
_CONSUMER_TUNING = {
    "group.id": "sde-client",  # librdkafka wants one; no group is joined, no offset committed
    # The broker ends a fetch as soon as there is an answer: it came 2 to 4 ms (median) after its
    # commit with 20, 100 and 500 alike. Only a partition added later waits for a fetch in flight.
    "fetch.wait.max.ms": 100,
}
_CONSUMER_RULES = {
    "isolation.level": "read_committed",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",  # answers lost to retention: go on with what is left
}
_REQUEST_TUNING = {
    "linger.ms": 0,
    # A request nobody waits for any more must not be carried out minutes later.
    "message.timeout.ms": 30_000,
}
_DATA_TUNING = {
    "linger.ms": 20,
    "message.max.bytes": 16 << 20,
    "queue.buffering.max.kbytes": 64 << 10,  # beyond this, sending waits for the broker
    "message.timeout.ms": 30_000,
}
_PRODUCER_RULES = {
    "enable.idempotence": True,
    "acks": "all",
    "delivery.report.only.error": True,
}

# What librdkafka has to say is a matter of the program's logging, not of its standard error.
_LOGGER = logging.getLogger("clients.kafka")
_LOGGER.addHandler(logging.NullHandler())


def consumer_config(settings: Settings) -> dict[str, Any]:
    return _with_logger({**_CONSUMER_TUNING, **settings, **_CONSUMER_RULES})


def request_config(settings: Settings) -> dict[str, Any]:
    return _with_logger({**_REQUEST_TUNING, **settings, **_PRODUCER_RULES})


def data_config(settings: Settings) -> dict[str, Any]:
    return _with_logger({**_DATA_TUNING, **settings, **_PRODUCER_RULES})


def admin_config(settings: Settings) -> dict[str, Any]:
    return _with_logger(dict(settings))


def _with_logger(config: dict[str, Any]) -> dict[str, Any]:
    return {**_EVERYWHERE, **config, "logger": _LOGGER}
