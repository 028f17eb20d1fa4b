"""Whether a broker can be reached from this machine only."""

from __future__ import annotations

import ipaddress
import re

from service.kafka.config import KafkaSettings

_NAMES = ("bootstrap.servers", "metadata.broker.list")  # of librdkafka, for the same
# [PROTOCOL://]HOST[:PORT], where a host of IPv6 stands in brackets
_SERVER = re.compile(r"(?:[a-z_]+://)?(?:\[([0-9a-f:]+)\]|([^\[\]:/]+))(?::[0-9]+)?", re.IGNORECASE)


def servers_of(kafka: KafkaSettings) -> list[str]:
    """The brokers that clients with this configuration connect to first."""
    named = ",".join(str(kafka.get(name, "")) for name in _NAMES)
    return [server.strip() for server in named.split(",") if server.strip()]


def is_loopback(server: str) -> bool:
    """
    >>> [is_loopback(server) for server in ("localhost:9092", "127.0.0.1", "localhost.example.com")]
    [True, True, False]
    """
    found = _SERVER.fullmatch(server)
    if found is None:
        return False
    host = found[1] or found[2]
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
