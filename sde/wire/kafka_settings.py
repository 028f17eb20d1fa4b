"""librdkafka settings that the service and the clients share: names and values, no Kafka.

The user's settings (bootstrap servers, TLS, SASL, anything librdkafka knows) pass through
untouched and override our tuning. What correctness rests on overrides the user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

KafkaSettings = Mapping[str, str | int | float | bool]
Config = dict[str, str | int | float | bool]

CONSUMER_RULES: Config = {
    "isolation.level": "read_committed",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
}
PRODUCER_RULES: Config = {"enable.idempotence": True, "acks": "all"}
_SERVER = re.compile(r"(?:\w+://)?(?:[^\s:/\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
_EVERYWHERE: Config = {
    # A restarted broker is found again within a second (the default is ten).
    "reconnect.backoff.max.ms": 1000,
}


def combined(tuning: KafkaSettings, settings: KafkaSettings, rules: KafkaSettings) -> Config:
    """A configuration in which later ones override earlier ones.

    >>> combined({"linger.ms": 20}, {"linger.ms": 5, "acks": "1"}, {"acks": "all"})
    {'reconnect.backoff.max.ms': 1000, 'linger.ms': 5, 'acks': 'all'}
    """
    return {**_EVERYWHERE, **tuning, **settings, **rules}


def server_without_port(bootstrap_servers: str) -> str | None:
    """The first server that is not HOST:PORT, for which librdkafka would take port 9092.

    >>> server_without_port("kafka-1:9092,kafka-2"), server_without_port("SSL://[::1]:9093")
    ('kafka-2', None)
    """
    servers = (server.strip() for server in bootstrap_servers.split(","))
    return next((server for server in servers if not _SERVER.fullmatch(server)), None)
