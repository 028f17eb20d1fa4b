"""The other sites this engine knows, as the settings name them.

[peers.athens]
bootstrap_servers = "kafka.athens:9092"
secret = "the same text at both sites"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from sde.federation.frames import LONGEST_SITE
from service.kafka.config import Config

_SHORTEST_SECRET = 16


class PeerError(ValueError):
    """A peer cannot be what the settings say; the message names it, never its secret."""


@dataclass(frozen=True)
class Peer:
    """Where another site is, and the secret that the two sites mark their messages with."""

    bootstrap_servers: str = field(metadata={"help": "its Kafka"})
    secret: str = field(
        repr=False, metadata={"help": "the same text at both sites, of at least 16 characters"}
    )
    topic: str = field(default="sde-peers", metadata={"help": "its topic for other sites"})
    kafka: Config = field(
        default_factory=dict,
        repr=False,
        metadata={"help": "librdkafka settings to reach it (TLS, SASL, ...)"},
    )

    @property
    def kafka_config(self) -> Config:
        return {"bootstrap.servers": self.bootstrap_servers, **self.kafka}


Peers = dict[str, Peer]


def read_peers(tables: Mapping[str, object]) -> Peers:
    """The peers out of the tables `[peers.NAME]`; PeerError if one of them is wrong."""
    return {name: _read_peer(name, table) for name, table in tables.items()}


def _read_peer(name: str, table: object) -> Peer:
    if not 0 < len(name.encode()) <= LONGEST_SITE:
        raise PeerError(f"peers.{name[:20]}: expected a name of at most {LONGEST_SITE} bytes")
    if not isinstance(table, Mapping):
        raise PeerError(f"peers.{name}: expected a table")
    known = {setting.name for setting in fields(Peer)}
    for unknown in table.keys() - known:
        raise PeerError(f"peers.{name}.{unknown}: expected only {', '.join(sorted(known))}")
    for needed in ("bootstrap_servers", "secret"):
        if not isinstance(table.get(needed), str) or not table[needed]:
            raise PeerError(f"peers.{name}.{needed}: expected a text")
    if len(table["secret"]) < _SHORTEST_SECRET:
        raise PeerError(f"peers.{name}.secret: expected at least {_SHORTEST_SECRET} characters")
    kafka = {str(k): str(v) for k, v in dict(table.get("kafka", {})).items()}
    return Peer(**{**table, "kafka": kafka})
