"""Admin clients: one per process and configuration, and what librdkafka said on it last."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from service.kafka.config import Config, KafkaSettings, admin_config, identity
from service.kafka.last_error import LastError


class _Admin(NamedTuple):
    client: AdminClient
    last: LastError


# By process (a forked one must not use its parent's), bootstrap servers and the configuration.
_admins: dict[tuple[int, str, str], _Admin] = {}


def admin(settings: KafkaSettings) -> AdminClient:
    config = admin_config(settings)
    key = _key(config)
    if key not in _admins:
        last = LastError()
        hearing: dict[str, Any] = {**config, "error_cb": last}
        _admins[key] = _Admin(AdminClient(hearing), last)
    return _admins[key].client


def heard(settings: KafkaSettings) -> KafkaError | None:
    """Why brokers do not answer, which librdkafka knows better than the answer that it gives."""
    known = _admins.get(_key(admin_config(settings)))
    if known is None:
        return None
    known.client.poll(0)  # lets librdkafka tell it
    return known.last.error


def forget_admin(settings: KafkaSettings) -> None:
    """The next one asks anew who leads: a client that knew the broker before it crashed names an
    old leader epoch and is refused for as long as its metadata lasts, which is minutes."""
    _admins.pop(_key(admin_config(settings)), None)


def forget_admins_of(bootstrap_servers: str) -> None:
    """Close this process's clients of a broker that is about to end: they would go on looking for
    it and write to standard error that it is not there."""
    for key in [key for key in _admins if key[:2] == (os.getpid(), bootstrap_servers)]:
        del _admins[key]


def _key(config: Config) -> tuple[int, str, str]:
    return os.getpid(), str(config.get("bootstrap.servers", "")), identity(config)
