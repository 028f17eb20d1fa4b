"""The other sites this engine knows, as the settings name them.

[peers.athens]
bootstrap_servers = "kafka.athens:9092"
secret = "the same text at both sites"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sde.federation.frames import LONGEST_SITE
from service.kafka.config import Config

_SHORTEST_SECRET = 16


class PeerError(ValueError):
    """A peer cannot be what the settings say; the message names it, never its secret."""


@dataclass(frozen=True)
class Peer:
    """Where a site is, and what the two of us mark our messages with."""

    bootstrap_servers: str
    secret: str = field(repr=False)
    requests: str = "sde-requests"
    union: str = "sde-union"
    kafka: Config = field(default_factory=dict, repr=False)

    @property
    def kafka_config(self) -> Config:
        return {"bootstrap.servers": self.bootstrap_servers, **self.kafka}


Peers = dict[str, Peer]


def read_peers(given: Mapping[str, Any]) -> Peers:
    return {name: _read(name, one) for name, one in given.items()}


def _read(name: str, given: Any) -> Peer:
    if not 0 < len(name.encode()) <= LONGEST_SITE:
        raise PeerError(f"peers.{name[:20]}: expected a name of at most {LONGEST_SITE} bytes")
    if not isinstance(given, Mapping):
        raise PeerError(f"peers.{name}: expected a table")
    known = {one.name for one in fields(Peer)}
    for unknown in given.keys() - known:
        raise PeerError(f"peers.{name}.{unknown}: expected only {', '.join(sorted(known))}")
    for needed in ("bootstrap_servers", "secret"):
        if not isinstance(given.get(needed), str) or not given[needed]:
            raise PeerError(f"peers.{name}.{needed}: expected a text")
    if len(given["secret"]) < _SHORTEST_SECRET:
        raise PeerError(f"peers.{name}.secret: expected at least {_SHORTEST_SECRET} characters")
    kafka = {str(k): str(v) for k, v in dict(given.get("kafka", {})).items()}
    return Peer(**{**given, "kafka": kafka})
