"""What the processes of an engine are, and the processor time and memory that they take."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from clients.processes import family, proportional_bytes

_PROC = Path("/proc")
# The daemon that runs tasks, by its arguments or, out of the nursery, by its name; others serve the
# driver.
_WORKERS = b"pyspark.worker"
_NAME = "worker"
_BROKER = b"kafka.Kafka"


def task_workers(pid: int) -> list[int]:
    """The Python processes that run Spark's tasks for the engine `pid`."""
    processes = family(pid)
    workers = {p.pid for p in processes if p.name == _NAME or _WORKERS in p.command.split(b"\0")}
    return [p.pid for p in processes if p.pid in workers and p.parent in workers]


def processor_seconds(pid: int) -> dict[str, float]:
    """Seconds of processor time so far of the engine `pid`, by what its processes are."""
    return _by_part(pid, seconds_of)


def bytes_held(pid: int) -> dict[str, float]:
    """Its memory, by the same; pages that several share are counted once."""
    return _by_part(pid, proportional_bytes)


def _by_part(pid: int, figure: Callable[[int], float]) -> dict[str, float]:
    workers = set(task_workers(pid))
    found: dict[str, float] = defaultdict(float)
    for process in family(pid):
        if process.is_java:
            part = "broker" if _BROKER in process.command.split(b"\0") else "Spark's JVM"
        else:
            part = "tasks in Python" if process.pid in workers else "other Python"
        found[part] += figure(process.pid)
    return found


def seconds_of(pid: int) -> float:
    """Seconds of processor time of one process, also what the system did for it."""
    try:
        status = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return 0.0
    fields = status.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
