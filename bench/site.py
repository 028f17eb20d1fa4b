"""An engine and a broker of our own, to measure and to break."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.batches import Batch, read_batches
from bench.throughput.topics import Load, make_topic
from clients import Client
from clients.engine_process import EngineProcess
from clients.processes import runs
from service.broker.embedded import EmbeddedBroker

_SECONDS_TO_READ = 600.0
DATA, REQUESTS, OUTPUT = "sde-data", "sde-requests", "sde-output"  # the engine's defaults


@dataclass(frozen=True)
class Site:
    """The engine is a process of its own and is not started yet; its broker runs."""

    folder: Path
    broker: EmbeddedBroker
    engine: EngineProcess

    @property
    def servers(self) -> str:
        return self.broker.bootstrap_servers

    @property
    def arena(self) -> Path:
        return self.engine.folder / "arena"

    @property
    def checkpoint(self) -> Path:
        return self.engine.folder / "checkpoint"

    def client(self, timeout: float) -> Client:
        return Client(self.servers, timeout=timeout)

    def batches_that_read(self, load: Load, before: int) -> list[Batch]:
        """Those after the first `before` that read the tuples of a load, once all are read."""
        deadline = time.monotonic() + _SECONDS_TO_READ
        while True:
            batches = read_batches(self.engine.folder)[before:]
            reached = [0, *(load.read(batch.offsets) for batch in batches)]
            if reached[-1] == load.tuples:
                steps = zip(batches, reached, reached[1:], strict=False)
                return [batch for batch, a, b in steps if b > a]
            done = f"{reached[-1]} of {load.tuples} tuples"
            if not runs(self.engine.pid):
                raise RuntimeError(f"the engine ended with {done} read")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{done} in {_SECONDS_TO_READ:g} s")
            time.sleep(0.2)


@contextmanager
def new_site(*flags: str) -> Iterator[Site]:
    """In a folder of its own that is gone afterwards, with a data topic of two partitions.

    `flags` are further ones of the engine.
    """
    with tempfile.TemporaryDirectory(prefix="sde-bench-") as name:
        folder = Path(name)
        with EmbeddedBroker(folder / "broker") as broker:
            make_topic(broker.bootstrap_servers, DATA)
            given = ("--bootstrap-servers", broker.bootstrap_servers, *flags)
            yield Site(folder, broker, EngineProcess(folder / "engine", *given, say=_tell))


def _tell(line: str) -> None:
    """What the engine says beside its usual progress is trouble."""
    if not line.startswith("sde: "):
        print(line, flush=True)
