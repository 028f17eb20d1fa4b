"""The tasks of an engine among its processes, and the processor time that they take."""

from __future__ import annotations

import os
from pathlib import Path

from clients.processes import family

_PROC = Path("/proc")
# The daemon that runs tasks, by its arguments or, out of the nursery, by its name; others serve the
# driver.
_WORKERS = b"pyspark.worker"
_NAME = "worker"


def task_workers(pid: int) -> list[int]:
    """The Python processes that run Spark's tasks for the engine `pid`."""
    processes = family(pid)
    workers = {p.pid for p in processes if p.name == _NAME or _WORKERS in p.command.split(b"\0")}
    return [p.pid for p in processes if p.pid in workers and p.parent in workers]


def processor_seconds(pid: int) -> dict[str, float]:
    """Seconds of processor time so far of the engine `pid`, by what its processes are."""
    workers = set(task_workers(pid))
    used = {"Spark's JVM": 0.0, "tasks in Python": 0.0, "other Python": 0.0}
    for process in family(pid):
        if process.is_java:
            part = "Spark's JVM"
        else:
            part = "tasks in Python" if process.pid in workers else "other Python"
        used[part] += seconds_of(process.pid)
    return used


def seconds_of(pid: int) -> float:
    """Seconds of processor time of one process, also what the system did for it."""
    try:
        status = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return 0.0
    fields = status.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
