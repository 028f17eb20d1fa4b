"""An engine under measurement: started as a user starts it, on a broker that is there already."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.batches import Batch, read_batches
from clients import Client, KafkaTransport
from clients.engine_process import EngineProcess
from clients.transport import Topics


@dataclass(frozen=True)
class Serving:
    process: EngineProcess
    topics: dict[str, str]
    data: list[str]

    def client(self, data: str, timeout: float = 120.0) -> Client:
        """One that sends its tuples to that data topic."""
        topics = Topics(data=data, **self.topics)
        transport = KafkaTransport(self.process.bootstrap_servers, topics=topics)
        return Client(transport, timeout=timeout)

    def batches(self) -> list[Batch]:
        return read_batches(self.process.folder)


@contextlib.contextmanager
def serving(folder: Path, servers: str, name: str, data: list[str]) -> Iterator[Serving]:
    """An engine with topics and state of its own; `data` are the topics it reads."""
    folder.mkdir(parents=True)
    own = {role: f"{name}-{role}" for role in ("requests", "output", "dead_letters")}
    config = folder / "sde.toml"
    config.write_text(
        f"bootstrap_servers = {json.dumps(servers)}\n"
        "[topics]\n"
        f"data = {json.dumps(data)}\n"
        f'commits = "{name}-commits"\n'
        + "".join(f'{role} = "{topic}"\n' for role, topic in own.items())
    )
    with EngineProcess(folder / "data", "--config", str(config)) as process:
        yield Serving(process, own, data)
