"""Contenders that are not the engine: each reads a loaded topic to its end, in its processes."""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path

from bench.rates import Mark, TooShort, batch_rate, steady_rate
from bench.throughput.forms import FORMS, JSON
from bench.throughput.topics import Load
from bench.throughput.worker import Job
from service.kafka.config import Config

ROOT = Path(__file__).parents[2]
_SECONDS = 600.0


@dataclass(frozen=True)
class Peer:
    """A way to do the job without the engine."""

    name: str
    module: str
    form: str = JSON
    scope: str = "stream"
    processes: int = 2
    slow: bool = False  # it gets a part of the tuples, which takes it as long
    own_interpreter: bool = False  # one with the packages of peers.txt
    batches: bool = False  # its marks are ends of batches


LOOP = "bench.throughput.loop"
USER = Peer("own loop, 2 processes", LOOP)  # what the goals call U
ONE_SKETCH = Peer("own loop, 2 processes, one sketch", LOOP, scope="dataset")
PEERS = [
    USER,
    Peer("own loop, 1 process", LOOP, processes=1),
    ONE_SKETCH,
    *(Peer(USER.name, LOOP, form) for form in FORMS if form != JSON),
    Peer("Quix Streams", "bench.throughput.quix_job", slow=True, own_interpreter=True),
    Peer("Bytewax", "bench.throughput.bytewax_job", slow=True, own_interpreter=True),
    Peer(
        "Spark SQL, approx_count_distinct",
        "bench.throughput.spark_job",
        processes=1,
        own_interpreter=True,
        batches=True,
    ),
    Peer(
        "Spark's connector, rows counted",
        "bench.throughput.spark_job",
        scope="rows",
        processes=1,
        own_interpreter=True,
        batches=True,
    ),
]


class PeerFailed(Exception):
    """A peer ended with an error; the message says why."""


def measure(peer: Peer, kafka: Config, load: Load, python: Path) -> float:
    """Tuples a second."""
    marks = _run([_command(peer, job, python) for job in _jobs(peer, kafka, load)])
    total = sum(worker[-1].tuples for worker in marks)
    if total != load.tuples:
        raise PeerFailed(f"{peer.name} counted {total} of {load.tuples} tuples")
    try:
        return batch_rate(marks[0]) if peer.batches else steady_rate(marks)
    except TooShort as short:
        raise PeerFailed(str(short)) from short


def _jobs(peer: Peer, kafka: Config, load: Load) -> list[Job]:
    name = f"{peer.name}-{uuid.uuid4().hex}"
    workers = [f"127.0.0.1:{port}" for port in _free_ports(peer.processes)]
    return [
        Job(
            kafka=kafka,
            topic=load.topic,
            form=FORMS[peer.form].read_as,
            scope=peer.scope,
            ends={p: end for p, end in load.ends.items() if p % peer.processes == number},
            name=name,
            workers=workers,
            number=number,
        )
        for number in range(peer.processes)
    ]


def _command(peer: Peer, job: Job, python: Path) -> list[str]:
    return [str(python), "-m", peer.module, job.to_json()]


def _run(commands: list[list[str]]) -> list[list[Mark]]:
    """All at once; the marks of each."""
    with tempfile.TemporaryDirectory() as folder:
        errors = [Path(folder, f"{number}.txt") for number in range(len(commands))]
        running = []
        try:
            for command, path in zip(commands, errors, strict=True):
                with path.open("w") as file:
                    running.append(
                        subprocess.Popen(
                            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=file, text=True
                        )
                    )
            said = [process.communicate(timeout=_SECONDS)[0] for process in running]
        finally:
            for process in running:
                if process.poll() is None:
                    process.kill()
        for process, path in zip(running, errors, strict=True):
            if process.returncode:
                raise PeerFailed(_reason(path))
    return [[Mark(*mark) for mark in json.loads(text.splitlines()[-1])] for text in said]


def _reason(path: Path) -> str:
    """The last line that names an error, out of all a peer had to say."""
    lines = [line.strip() for line in path.read_text().splitlines() if "rdkafka" not in line]
    errors = [line for line in lines if "Error" in line or "Exception" in line]
    return (errors or lines or ["no reason was given"])[-1][:300]


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports
