"""Several real engines, each with a real broker of its own, that are sites of each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from clients import Client
from clients.engine_process import EngineProcess
from service.broker.embedded import EmbeddedBroker

NAMES = ("athens", "berlin", "cork")
_SMALL = ("--cores", "1", "--shards", "2", "--memory", "1g")  # so that three fit on two cores

Route = Callable[[str, str, str], str]  # from, to, address of the broker: the address to take


@dataclass(frozen=True)
class FederatedSite:
    name: str
    broker: EmbeddedBroker
    engine: EngineProcess

    def client(self, timeout: float = 60.0) -> Client:
        return Client(self.broker.bootstrap_servers, timeout=timeout)


@contextmanager
def running_sites(
    folder: Path,
    names: Iterable[str] = NAMES,
    route: Route = lambda sender, to, address: address,
    say: Callable[[str], None] = lambda line: None,
) -> Iterator[dict[str, FederatedSite]]:
    """All engines are ready; they and their brokers end with the block."""
    names = tuple(names)
    with ExitStack() as parts, ThreadPoolExecutor(len(names)) as pool:
        brokers = {n: EmbeddedBroker(folder / n / "broker") for n in names}
        list(pool.map(EmbeddedBroker.start, brokers.values()))
        for broker in brokers.values():
            parts.callback(broker.stop)
        sites = {}
        for name in names:
            config = folder / name / "sde.toml"
            config.write_text(_settings(name, brokers, route))
            flags = ("--config", str(config), *_SMALL)
            engine = EngineProcess(folder / name / "engine", *flags, say=say)
            sites[name] = FederatedSite(name, brokers[name], engine)
        started = [pool.submit(site.engine.start) for site in sites.values()]
        for site in sites.values():
            parts.callback(_stop, site.engine)
        for one in started:
            one.result()
        yield sites


def _settings(name: str, brokers: dict[str, EmbeddedBroker], route: Route) -> str:
    lines = [
        f"bootstrap_servers = {json.dumps(brokers[name].bootstrap_servers)}",
        f"site = {json.dumps(name)}",
    ]
    for other in brokers:
        if other != name:
            address = route(name, other, brokers[other].bootstrap_servers)
            secret = f"known to {' and '.join(sorted((name, other)))} only"
            lines += [
                f"[peers.{other}]",
                f"bootstrap_servers = {json.dumps(address)}",
                f"secret = {json.dumps(secret)}",
            ]
    return "\n".join(lines)


def _stop(engine: EngineProcess) -> None:
    """A site may have been killed by who works with it."""
    with suppress(AssertionError, ProcessLookupError, ValueError):
        engine.stop()
