"""Why a query ended: by itself, for a reason that lies outside, or because its tasks died."""

from __future__ import annotations

import re
import time

from pyspark.sql import SparkSession

_OURS = re.compile(r"^((?:service|sde)\.[\w.]+): (.+)$", re.MULTILINE)
_CRASHES = (
    re.compile(r"Fatal Python error: .+"),
    re.compile(r"^\w+Error: .+$", re.MULTILINE),
    re.compile(r"Python worker exited unexpectedly \(\w+\)"),
)
# Errors that no message is to blame for: Kafka, the disk, a checkpoint of other settings.
_OUTSIDE = (
    "service.kafka.errors.",
    "sde.storage.arena.ArenaError",
    "sde.shard.keeper.StateFormatError",
)
_KAFKA_AWAY = "service.kafka.errors.BrokerSilent"
_DISK_FULL = re.compile(r"(?:OSError: \[Errno 28\]|IOException:) No space left on device")
_LOOK_SECONDS = 1.0


def reason(failure: str) -> str:
    """The part of a stack trace that says why: our own error, that of Python, or the first line."""
    ours = _OURS.findall(failure)
    if ours:
        return str(ours[-1][1])
    crashes = [found.group() for found in (one.search(failure) for one in _CRASHES) if found]
    return (crashes[0] if crashes else failure.split("\n", 1)[0])[:500]


def comes_from_outside(failure: str) -> bool:
    ours = any(name.startswith(_OUTSIDE) for name, _ in _OURS.findall(failure))
    return ours or _DISK_FULL.search(failure) is not None


def is_for_want_of_kafka(failure: str) -> bool:
    """Whether brokers gave no answer: another run goes on where this one was, when they do."""
    return any(name == _KAFKA_AWAY for name, _ in _OURS.findall(failure))


class StuckTasks:
    """Whether Spark has tasks of which none ends. `look` is called several times a second."""

    def __init__(self, spark: SparkSession, seconds: float) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._seconds = seconds
        self._seen: list[tuple[int, int, int]] = []
        self._since = self._looked = time.monotonic()

    def look(self) -> bool:
        now = time.monotonic()
        if now - self._looked < min(_LOOK_SECONDS, self._seconds / 4):
            return False
        self._looked = now
        seen = self._running()
        if seen != self._seen or not seen:
            self._seen, self._since = seen, now
        return now - self._since > self._seconds

    def begin_anew(self) -> None:
        """The time until now does not count."""
        self._since = time.monotonic()

    def _running(self) -> list[tuple[int, int, int]]:
        """The stages with tasks, and how many of them have ended."""
        stages = []
        for number in self._tracker.getActiveStageIds():
            stage = self._tracker.getStageInfo(number)
            if stage is not None:
                stages.append((number, stage.numCompletedTasks, stage.numFailedTasks))
        return stages
