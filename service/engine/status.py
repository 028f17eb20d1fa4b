"""The file in which an engine tells how it is, about once a second."""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from dataclasses import asdict

from sde.wire.status import STATUS_FILE, EngineStatus, State, encode_status
from service.engine.kafka_watch import Outage
from service.engine.progress import ProgressLog
from service.settings import Settings

_SECONDS = 1.0
_RATE_SECONDS = 30.0


class StatusFile:
    """Call `write` several times a second."""

    def __init__(self, settings: Settings, progress: ProgressLog) -> None:
        self._path = settings.data_dir.absolute() / STATUS_FILE
        self._progress = progress
        self._control_topics = set(settings.topics.control)
        self._folders = {
            "checkpoint": str(settings.checkpoint.absolute()),
            "broker": str(settings.data_dir.absolute() / "broker"),
            "arena": str(settings.arena_folder.absolute()),
            "snapshots": settings.snapshots_root,
            "logs": str(settings.data_dir.absolute() / "logs"),
        }
        self._limits = asdict(settings.limits)
        self._site = settings.site
        self._since = _now()
        self._next = 0.0
        self._state: State | None = None
        self._read: deque[tuple[float, int]] = deque()  # when, and how many messages by then

    def write(
        self, state: State, bootstrap_servers: str, outage: Outage | None, passed_over: int
    ) -> None:
        """Does nothing if the file is a second old at most and the state is the same."""
        if time.monotonic() < self._next and state == self._state:
            return
        self._next, self._state = time.monotonic() + _SECONDS, state
        status = EngineStatus(
            pid=os.getpid(),
            host=socket.gethostname(),
            site=self._site,
            state=state,
            since=self._since,
            written=_now(),
            bootstrap_servers=bootstrap_servers,
            folders=self._folders,
            kafka_away_since=round(1000 * outage.since) if outage else None,
            kafka_problem=outage.reason if outage else "",
            batches=self._progress.batches,
            last_batch=self._progress.last_batch,
            messages_per_second=self._rate(),
            lag=self._progress.lag,
            behind=self._progress.behind,
            passed_over=passed_over,
            limits=self._limits,
        )
        new = self._path.with_name(f".{STATUS_FILE}-new")
        new.write_bytes(encode_status(status))
        new.replace(self._path)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)

    def _rate(self) -> float | None:
        """Messages of tuples and records a second; None before there is a second to tell it of."""
        now = time.monotonic()
        reached = self._progress.reached
        control = self._control_topics
        read = sum(end for (topic, _), end in reached.items() if topic not in control)
        if reached:
            self._read.append((now, read))
        while self._read and self._read[0][0] < now - _RATE_SECONDS:
            self._read.popleft()
        if len(self._read) < 2:
            return None
        (began, before), (ended, after) = self._read[0], self._read[-1]
        return round((after - before) / (ended - began), 1)


def _now() -> int:
    return round(time.time() * 1000)
