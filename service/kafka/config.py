"""librdkafka configurations, made from the one dictionary of settings a user gives.

The user's settings (bootstrap servers, TLS, SASL, anything librdkafka knows) pass through
untouched and override our tuning. What correctness rests on overrides the user.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Settings = Mapping[str, str | int | float | bool]
Config = dict[str, str | int | float | bool]

PATIENCE_SECONDS = 60.0  # how long to wait for a broker that is away

_EVERYWHERE: Config = {
    # A restarted broker is found again within a second (the default is ten).
    "reconnect.backoff.max.ms": 1000,
}
_CONSUMER_TUNING: Config = {
    "group.id": "sde",  # librdkafka wants one; no group is joined, no offset is committed
    # A fetch in flight delays the next range by up to this long.
    "fetch.wait.max.ms": 10,
    # Once the prefetch queue was full, the default waits a second before the next fetch.
    "fetch.queue.backoff.ms": 2,
    # Prefetch far enough to keep the decoder busy; what lies beyond a range's end is thrown away.
    "fetch.message.max.bytes": 4 << 20,
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 32 << 10,
}
_CONSUMER_RULES: Config = {
    "isolation.level": "read_committed",
    "enable.auto.commit": False,  # Spark's checkpoint keeps the offsets
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",  # lost offsets are ours to report, never to be skipped over
    "enable.partition.eof": True,  # tells that the rest of a range holds no messages
}
_PRODUCER_TUNING: Config = {
    "linger.ms": 0,
    # Above this a reply is refused here; between a topic's own limit and this, by the broker.
    "message.max.bytes": 32 << 20,
}
_PRODUCER_RULES: Config = {"enable.idempotence": True, "acks": "all"}


def is_plain(settings: Settings) -> bool:
    """Whether brokers are spoken to without TLS and SASL."""
    return str(settings.get("security.protocol", "plaintext")).lower() == "plaintext"


def consumer_config(settings: Settings) -> Config:
    return {**_EVERYWHERE, **_CONSUMER_TUNING, **settings, **_CONSUMER_RULES}


def producer_config(settings: Settings, transactional_id: str) -> Config:
    rules = {**_PRODUCER_RULES, "transactional.id": transactional_id}
    return {**_EVERYWHERE, **_PRODUCER_TUNING, **settings, **rules}


def admin_config(settings: Settings) -> Config:
    return {**_EVERYWHERE, **settings}


def identity(config: Mapping[str, Any]) -> str:
    """Equal for equal configurations: the key under which clients are cached."""
    return json.dumps(config, sort_keys=True)
