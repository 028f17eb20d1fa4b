"""`python -m service.gateway`, or `sde gateway`: serve HTTP until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import threading
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import orjson

from clients.address import EngineFolder
from clients.errors import ClientError
from clients.kafka import KafkaTransport
from clients.transport import Topics
from service.gateway.beside import Beside, KafkaLetters
from service.gateway.counts import Counts
from service.gateway.engine import EngineDoor
from service.gateway.lane_process import LaneProcess
from service.gateway.replay import KafkaReplay
from service.gateway.server import GatewayServer, bind
from service.gateway.tokens import new_token, table_of
from service.http_settings import SCOPES, read_http
from service.setting_values import SettingsError
from service.settings import Settings, load, read_settings

EXIT_ERROR, EXIT_SETTINGS = 1, 2
_DEFAULT_ADDRESS = "127.0.0.1:8088"


def main() -> int:
    flags = _parser().parse_args()
    if flags.command == "token":
        return print_token(flags)
    try:
        if flags.from_engine:
            settings = read_settings(orjson.loads(sys.stdin.buffer.readline()))
        else:
            kafka = dict(pair.split("=", 1) for pair in flags.kafka or ()) or None
            said = {n: getattr(flags, n) for n in ("http", "bootstrap_servers", "data_dir")}
            settings = load(flags.config, {**said, "kafka": kafka}, os.environ)
        return _serve(settings, flags.from_engine)
    except SettingsError as error:
        print(f"sde gateway: {error}", file=sys.stderr)
        return EXIT_SETTINGS
    except (ClientError, OSError) as error:
        print(f"sde gateway: {error}", file=sys.stderr)
        return EXIT_ERROR


def _serve(settings: Settings, from_engine: bool) -> int:
    http = (
        settings.http if settings.http.listen else replace(settings.http, listen=_DEFAULT_ADDRESS)
    )
    ways = _ways_to(settings)
    _allow_many_files()
    with bind(http) as listener:
        counts = Counts(settings.data_dir)
        door = EngineDoor(
            ways.open_transport(),
            lane=ways.lane,
            counts=counts,
            open_data=lambda on_delivered: ways.open_transport(on_delivered=on_delivered),
        )
        server = GatewayServer(http, door, ways.replay, ways.beside)
        if from_engine:
            threading.Thread(target=_end_with_input, args=(server,), daemon=True).start()
        scheme = "https" if http.certificate else "http"
        print(f"sde: HTTP at {scheme}://{http.listen}", flush=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            pass  # the way to end it
        finally:
            door.close()
    return 0


class _Ways(NamedTuple):
    open_transport: Callable[..., KafkaTransport]
    replay: KafkaReplay
    beside: Beside
    lane: LaneProcess | None


def _ways_to(settings: Settings) -> _Ways:
    """How to reach the engine: where the settings say, or the one of the data folder.

    There is a lane if both are the same one.
    """
    folder = EngineFolder(settings.data_dir)
    if settings.bootstrap_servers:
        servers = settings.bootstrap_servers
        names = settings.topics
        topics = Topics(names.requests, names.data[0], names.output, names.dead_letters)
    else:
        servers, topics = folder.running()
    transport = partial(
        KafkaTransport,
        servers,
        topics=topics,
        settings=settings.kafka,
        why_silent=partial(folder.why_silent, servers),
    )
    kafka = {**settings.kafka, "bootstrap.servers": servers}
    return _Ways(
        transport,
        KafkaReplay(kafka, topics.output),
        Beside(folder, KafkaLetters(kafka, topics.dead_letters), servers),
        LaneProcess(folder.path) if folder.is_of(servers, topics) else None,
    )


def _end_with_input(server: GatewayServer) -> None:
    """The engine that started this process holds its standard input open as long as it lives."""
    sys.stdin.buffer.read()
    server.should_exit = True


def _allow_many_files() -> None:
    """As many open connections as the system lets us have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def print_token(flags: argparse.Namespace) -> int:
    """A new token, once, and the table of the settings that lets it in."""
    token = new_token()
    table = table_of(flags.name, token, flags.scopes, flags.datasets, flags.expires)
    try:
        read_http(tomllib.loads(table)["http"])
    except (SettingsError, tomllib.TOMLDecodeError) as error:
        print(f"sde gateway token: {error}", file=sys.stderr)
        return EXIT_SETTINGS
    print(f"token, shown only now: {token}\n\nfor the file of --config:\n\n{table}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "sde gateway", description="Serve HTTP for a running engine.", allow_abbrev=False
    )
    parser.add_argument("--config", type=Path, help="TOML file with the settings of `sde serve`")
    parser.add_argument("--http", help=f"HOST:PORT to listen at (default: {_DEFAULT_ADDRESS})")
    parser.add_argument("--bootstrap-servers", help="the engine's Kafka, if it is elsewhere")
    parser.add_argument("--data-dir", help="the engine's data folder (default: sde-data)")
    parser.add_argument(
        "-X", "--kafka", action="append", metavar="NAME=VALUE", help="of librdkafka"
    )
    parser.add_argument("--from-engine", action="store_true", help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command")
    token = commands.add_parser("token", help="make a token and print it once")
    token.add_argument("name", help="what it is called in the settings")
    token.add_argument("--scopes", default="read", help=f"some of {','.join(SCOPES)}")
    token.add_argument("--datasets", default="", help="data sets it may see, with `*` (all)")
    token.add_argument("--expires", default="", help="an ISO 8601 time")
    return parser


if __name__ == "__main__":
    sys.exit(main())
