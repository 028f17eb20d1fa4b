"""Settings of the service: defaults, then a TOML file, then SDE_* variables, then flags."""

from __future__ import annotations

import base64
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from sde.limits import StateLimits
from sde.plugins.trust import OFF, OPEN, SIGNED, Trust
from sde.wire.kafka_settings import server_without_port
from service.http_settings import HttpSettings, read_http
from service.kafka.config import Config, check_settings
from service.kafka.loopback import is_loopback, servers_of
from service.kafka.registry_settings import RegistrySettings
from service.kafka.retention import OnLost, checked_on_lost
from service.metrics_settings import MetricsSettings
from service.peer_settings import PeerError, Peers, read_peers
from service.setting_values import SettingsError, read_table, read_value, refuse_unknown
from service.source_settings import SourceTables, read_sources

_KEY_BYTES = 32


def _topic(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Topics:
    """Names of the topics; those that are missing are created."""

    data: tuple[str, ...] = _topic(("sde-data",), "tuples; several topics may be read")
    requests: str = _topic("sde-requests", "requests; one partition: its order is that of all")
    output: str = _topic("sde-output", "replies, and answers of watches")
    dead_letters: str = _topic("sde-dead-letters", "what could not be read, with the reason")
    union: str = _topic("sde-union", "what the engine tells itself; nobody else is believed here")
    peers: str = _topic("sde-peers", "what other sites tell this one; they write here only")
    commits: str = _topic("sde-commits", "marks of the batches whose replies are written")
    outbound: str = _topic("sde-outbound", "what waits to be carried to other sites")
    logging: str = _topic(
        "", "of INFORE's dialect: what became of requests; left out: in the output topic"
    )
    data_partitions: int = _topic(4, "of data topics that the service creates")

    @property
    def control(self) -> tuple[str, ...]:
        """Topics that are read for what they tell the engine, not for tuples."""
        return self.requests, self.union, self.peers

    @property
    def all(self) -> tuple[str, ...]:
        """Every topic that has a role."""
        written = (self.output, self.dead_letters, self.commits, self.outbound, self.logging)
        return tuple(name for name in (*self.data, *self.control, *written) if name)

    def __post_init__(self) -> None:
        """What one role writes, another would read as its own."""
        one_name = {each.name: getattr(self, each.name) for each in fields(self)}
        several, _ = one_name.pop("data"), one_name.pop("data_partitions")
        roles: dict[str, str] = {}
        for role, name in [*(("data", each) for each in several), *one_name.items()]:
            if name and name in roles:
                raise SettingsError(
                    f"topics.{roles[name]} and topics.{role} are both {name!r}: expected a topic of"
                    " its own for each"
                )
            roles[name] = role


@dataclass(frozen=True)
class Settings:
    """The settings of `sde serve`. Every field is a flag, a variable and a line of TOML.

    Only the process that starts the engine has them; Spark's workers get what they need of them as
    options of their stage.
    """

    bootstrap_servers: str = field(
        default="", metadata={"help": "Kafka to use; without it an embedded broker is started"}
    )
    kafka: Config = field(
        default_factory=dict, metadata={"help": "further librdkafka settings (TLS, SASL, ...)"}
    )
    topics: Topics = field(default_factory=Topics, metadata={"help": "names of the topics"})
    sources: SourceTables = field(
        default_factory=dict,
        metadata={"help": "topics that are read as they are, by name: fields of `source` requests"},
    )
    registry: RegistrySettings = field(
        default_factory=RegistrySettings,
        metadata={
            "help": "schema registry of Avro and Protobuf: url, user, password, token, ca_file"
        },
    )
    http: HttpSettings = field(
        default_factory=HttpSettings,
        metadata={"help": "HOST:PORT of the HTTP door, such as 127.0.0.1:8088 (default: none)"},
    )
    metrics: MetricsSettings = field(
        default_factory=MetricsSettings,
        metadata={"help": "what the metrics export beside the engine's own: watches"},
    )
    data_dir: Path = field(
        default=Path("sde-data"), metadata={"help": "folder of checkpoint, broker data and logs"}
    )
    broker_port: int = field(
        default=0,
        metadata={"help": "port of the embedded broker (0: the one it had, or 9092, if free)"},
    )
    broker_bytes: int = field(
        default=0,
        metadata={"help": "data of the embedded broker (0: half of the free disk space)"},
    )
    arena_dir: Path | None = field(
        default=None, metadata={"help": "folder of the memory-mapped state (default: in data_dir)"}
    )
    snapshots: str = field(
        default="",
        metadata={"help": "folder or URI of kept synopses (default: snapshots in data_dir)"},
    )
    limits: StateLimits = field(
        default_factory=StateLimits, metadata={"help": "what the engine may hold"}
    )
    site: str = field(default="main", metadata={"help": "name of this engine in its replies"})
    peers: Peers = field(default_factory=dict, metadata={"help": "other sites, by name"})
    shards: int = field(
        default=2 * (os.cpu_count() or 2),
        metadata={"help": "units of state; fixed for the life of a checkpoint"},
    )
    cores: int = field(
        default=os.cpu_count() or 2, metadata={"help": "cores Spark uses on this machine"}
    )
    master: str = field(default="", metadata={"help": "Spark master (default: local[cores])"})
    batch_seconds: float = field(
        default=2.0, metadata={"help": "how long a batch should take when there is much to read"}
    )
    largest_batch: int = field(default=3_000_000, metadata={"help": "messages of a batch at most"})
    on_lost: OnLost = field(
        default="stop",
        metadata={"help": "offsets lost to retention: stop, or continue with a counted loss"},
    )
    on_restored: OnLost = field(
        default="stop",
        metadata={
            "help": "a checkpoint set back by a back-up, or new beside topics in use: stop, or "
            "continue and reply again"
        },
    )
    kafka_patience_seconds: float = field(
        default=math.inf,
        metadata={"help": "how long a Kafka that is away is waited for; then the engine ends"},
    )
    stuck_seconds: float = field(
        default=300.0,
        metadata={"help": "a batch in which no task ends for so long is taken for an endless loop"},
    )
    compact_factor: float = field(
        default=1.0, metadata={"help": "log size, as a multiple of the snapshot, that compacts"}
    )
    plugins: str = field(
        default=SIGNED,
        metadata={"help": "plug-ins: off, signed (by plugin_keys), open (loopback broker only)"},
    )
    plugin_keys: tuple[str, ...] = field(
        default=(), metadata={"help": "public keys whose plug-ins are taken, with commas between"}
    )
    plugin_keys_file: Path | None = field(
        default=None,
        metadata={"help": "file with more of them, read anew (default: plugin-keys in data_dir)"},
    )
    memory: str = field(default="2g", metadata={"help": "memory of Spark's driver JVM"})

    def __post_init__(self) -> None:
        if self.shards < 1 or self.cores < 1:
            raise SettingsError(f"shards={self.shards}, cores={self.cores}: expected at least 1")
        try:
            checked_on_lost(self.on_lost)
            checked_on_lost(self.on_restored, "on_restored")
        except ValueError as error:
            raise SettingsError(str(error)) from None
        if self.site in self.peers:
            raise SettingsError(f"peers.{self.site}: expected other sites; site={self.site!r}")
        if not 0 <= self.broker_port < 1 << 16:
            raise SettingsError(f"broker_port={self.broker_port}: expected 0 to 65535")
        if self.broker_bytes < 0:
            raise SettingsError(f"broker_bytes={self.broker_bytes}: expected at least 0")
        if not self.batch_seconds > 0:
            raise SettingsError(f"batch_seconds={self.batch_seconds}: expected more than 0")
        if not self.stuck_seconds > 0:
            raise SettingsError(f"stuck_seconds={self.stuck_seconds}: expected more than 0")
        if not self.kafka_patience_seconds > 0:
            raise SettingsError(
                f"kafka_patience_seconds={self.kafka_patience_seconds}: expected more than 0"
            )
        self._check_plugins()
        if self.bootstrap_servers:
            wrong = server_without_port(self.bootstrap_servers)
            if wrong is not None:
                raise SettingsError(f"bootstrap_servers: {wrong!r}: expected HOST:PORT")

    def _check_plugins(self) -> None:
        if self.plugins not in (OFF, SIGNED, OPEN):
            raise SettingsError(f"plugins={self.plugins!r}: expected {OFF}, {SIGNED} or {OPEN}")
        far = [server for server in servers_of(self.kafka_config) if not is_loopback(server)]
        if self.plugins == OPEN and far:
            raise SettingsError(
                f"plugins={OPEN!r}: whoever reaches the broker could run any code; it is possible "
                f"with a loopback broker only, not with {', '.join(far)}"
            )
        for key in self.plugin_keys:
            try:
                fits = len(base64.b64decode(key, validate=True)) == _KEY_BYTES
            except ValueError:
                fits = False
            if not fits:
                raise SettingsError(
                    f"plugin_keys: {key[:80]!r}: expected a key as `sde plugin keygen` prints it"
                )

    @property
    def trust(self) -> Trust:
        file = self.plugin_keys_file or self.data_dir / "plugin-keys"
        return Trust(self.plugins, self.plugin_keys, str(file.absolute()))

    @property
    def arena_folder(self) -> Path:
        return self.arena_dir or self.data_dir / "arena"

    @property
    def figures_folder(self) -> Path:
        """Where batches leave their figures for the process of `sde serve`; see `Handover`."""
        return self.arena_folder / "figures"

    @property
    def snapshots_root(self) -> str:
        return self.snapshots or str((self.data_dir / "snapshots").absolute())

    @property
    def checkpoint(self) -> Path:
        return self.data_dir / "checkpoint"

    @property
    def sources_folder(self) -> Path:
        """Where the sources that are read are written down, version by version."""
        return self.checkpoint / "sde-sources"

    @property
    def kafka_config(self) -> Config:
        """What every Kafka client of the service is made with."""
        return {"bootstrap.servers": self.bootstrap_servers, **self.kafka}


def load(
    config: Path | None, flags: Mapping[str, object], environment: Mapping[str, str]
) -> Settings:
    """The settings out of file, environment and flags, later ones winning."""
    values: dict[str, object] = {}
    if config is not None:
        try:
            values = tomllib.loads(config.read_text())
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise SettingsError(f"{config}: {error}") from None
    table = values.get("http")
    for name in (each.name for each in fields(Settings)):
        variable = environment.get(f"SDE_{name.upper()}")
        if variable is not None:
            values[name] = variable
    values |= {name: value for name, value in flags.items() if value is not None}
    if isinstance(table, Mapping) and isinstance(values["http"], str):
        values["http"] = {**table, "listen": values["http"]}  # the table keeps what else it says
    settings = read_settings(values)
    try:
        check_settings(settings.kafka)
    except ValueError as error:
        raise SettingsError(f"kafka: {error}") from None
    return settings


def read_settings(values: Mapping[str, object]) -> Settings:
    """The settings out of values as a TOML file has them."""
    known = {f.name: f for f in fields(Settings)}
    for misplaced in values.keys() & {limit.name for limit in fields(StateLimits)}:
        raise SettingsError(f"{misplaced!r} stands outside its table: expected it in [limits]")
    refuse_unknown(values, known)
    return replace(Settings(), **{n: _typed(n, str(known[n].type), v) for n, v in values.items()})


def _read_registry(name: str, value: Any) -> RegistrySettings:
    try:
        return read_table(name, RegistrySettings, value)
    except ValueError as error:
        raise SettingsError(f"{name}.{error}") from None


def _typed(name: str, kind: str, value: Any) -> Any:
    """A value of TOML, or text, as the type that the field is declared with."""
    match kind:
        case "Topics":
            return read_table(name, Topics, value)
        case "StateLimits":
            return read_table(name, StateLimits, value)
        case "MetricsSettings":
            return read_table(name, MetricsSettings, value)
        case "RegistrySettings":
            return _read_registry(name, value)
        case "HttpSettings":
            return read_http(value)
        case "Peers" | "Config" | "SourceTables" if not isinstance(value, Mapping):
            raise SettingsError(f"{name}={value!r}: expected a table [{name}]")
        case "Peers":
            try:
                return read_peers(value)
            except PeerError as error:
                raise SettingsError(str(error)) from None
        case "SourceTables":
            return read_sources(value)
        case "Config":
            return {str(k): str(v) for k, v in value.items()}
        case "OnLost":
            return str(value)
    return read_value(name, kind, value)
