"""Why brokers do not let us in, in words that say what to do.

librdkafka says of most that a broker cannot be reached, and tries again for ever. So when it fails
we knock ourselves.
"""

from __future__ import annotations

import re

from confluent_kafka import KafkaError

from service.kafka.broker_socket import BrokerSocket, UnusualAnswer
from service.kafka.config import KafkaSettings
from service.kafka.loopback import servers_of
from service.kafka.sasl import log_in
from service.kafka.security import is_ours, security_of

# What librdkafka calls it if we cannot look ourselves.
REFUSALS = {KafkaError._SSL, KafkaError._AUTHENTICATION}
_API_VERSIONS = 18  # a request that everybody may make
_LARGEST, _SECONDS = 1 << 20, 3.0
_USUAL_PORT = 9092
_SERVER = re.compile(r"(?:[A-Za-z_]+://)?\[?([^\[\]/]+?)\]?(?::([0-9]+))?")


def check_access(settings: KafkaSettings) -> None:
    """AccessRefused if a broker answers, and TLS or SASL ends the connection."""
    if not is_ours(settings):
        return
    security = security_of(settings)
    for server in servers_of(settings):
        found = _SERVER.fullmatch(server)
        if found is None:
            continue
        try:
            connection = BrokerSocket(
                found[1], int(found[2] or _USUAL_PORT), security.tls, _SECONDS
            )
        except OSError:
            continue  # it is away, which is another matter
        try:
            if security.login is not None:
                log_in(connection, security.login)
            connection.send(_API_VERSIONS, 0, b"")
            connection.receive(_LARGEST)
            return
        except (OSError, UnusualAnswer):
            continue
        finally:
            connection.close()
