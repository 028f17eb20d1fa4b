"""The options every command that talks to an engine has, and the client made from them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from clients.address import EngineFolder
from clients.cli.kafka_options import SERVERS, parse_settings, read_settings, with_topics
from clients.client import Client
from clients.kafka import KafkaTransport
from clients.transport import Topics

AS_JSON = "clients.cli.as_json"

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


@dataclass(frozen=True)
class Session:
    """How to reach the engine, and how to print what it says."""

    bootstrap_servers: str | None
    kafka_config: Path | None
    overrides: tuple[str, ...]
    topic_names: tuple[str, ...]
    timeout: float
    as_json: bool

    def client(self) -> Client:
        transport = click.get_current_context().obj  # a test's transport
        if transport is not None:
            return Client(transport, timeout=self.timeout)
        settings, topics = self.kafka()
        servers = settings.pop(SERVERS)
        kafka = KafkaTransport(
            servers,
            topics=topics,
            settings=settings,
            why_silent=functools.partial(EngineFolder().why_silent, servers),
            patience=self.timeout,
        )
        return Client(kafka, timeout=self.timeout)

    def kafka(self) -> tuple[dict[str, Any], Topics]:
        """Settings for librdkafka, `bootstrap.servers` among them, and the topics."""
        settings = read_settings(self.kafka_config) if self.kafka_config else {}
        settings.update(parse_settings(self.overrides))
        topics = Topics()
        if self.bootstrap_servers:
            settings[SERVERS] = self.bootstrap_servers
        elif SERVERS not in settings:
            found = EngineFolder().running()
            settings[SERVERS], topics = found.bootstrap_servers, found.topics
        return settings, with_topics(topics, self.topic_names)


def connected(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options and hand the command its `Session`."""

    @click.option(
        "--bootstrap-servers",
        envvar="SDE_BOOTSTRAP_SERVERS",
        metavar="HOST:PORT,...",
        help="The engine's Kafka. Without it: the engine that runs with this folder's data.",
    )
    @click.option(
        "--kafka-config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A properties or JSON file of librdkafka settings (TLS, SASL, ...).",
    )
    @click.option("-X", "overrides", multiple=True, metavar="KEY=VALUE", help="One such setting.")
    @click.option(
        "--topic",
        "topic_names",
        multiple=True,
        metavar="ROLE=NAME",
        help="Another name for a topic: requests, data, output or dead_letters.",
    )
    @click.option(
        "--timeout",
        default=10.0,
        show_default=True,
        envvar="SDE_TIMEOUT",
        show_envvar=True,
        help="Seconds to wait for an answer.",
    )
    @json_option
    @functools.wraps(command)
    def run(
        bootstrap_servers: str | None,
        kafka_config: Path | None,
        overrides: tuple[str, ...],
        topic_names: tuple[str, ...],
        timeout: float,
        as_json: bool,
        **rest: Any,
    ) -> None:
        click.get_current_context().meta[AS_JSON] = as_json
        session = Session(bootstrap_servers, kafka_config, overrides, topic_names, timeout, as_json)
        command(session, **rest)

    return run
