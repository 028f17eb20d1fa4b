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
from service.kafka.config import Config

_INSIDE = ("union", "outbound", "commits")  # roles of topics that no client uses


@dataclass(frozen=True)
class Serving:
    process: EngineProcess
    topics: dict[str, str]
    kafka: Config
    data: str

    def client(self, timeout: float = 120.0) -> Client:
        topics = Topics(data=self.data, **self.topics)
        transport = KafkaTransport(
            self.process.bootstrap_servers, topics=topics, settings=self.kafka
        )
        return Client(transport, timeout=timeout)

    def batches(self) -> list[Batch]:
        return read_batches(self.process.folder)


@contextlib.contextmanager
def serving(folder: Path, kafka: Config, name: str, data: str) -> Iterator[Serving]:
    """An engine with topics and state of its own; `data` is the topic it reads."""
    folder.mkdir(parents=True)
    own = {role: f"{name}-{role}" for role in ("requests", "output", "dead_letters")}
    more = {key: value for key, value in kafka.items() if key != "bootstrap.servers"}
    config = folder / "sde.toml"
    config.write_text(
        f"bootstrap_servers = {json.dumps(kafka['bootstrap.servers'])}\n"
        f'[topics]\ndata = "{data}"\n'
        + "".join(f'{role} = "{name}-{role}"\n' for role in (*own, *_INSIDE))
        + "[kafka]\n"
        + "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in more.items())
    )
    with EngineProcess(folder / "data", "--config", str(config)) as process:
        yield Serving(process, own, kafka, data)
