"""What `/metrics` says: what the engine wrote down, and what the gateway counts itself."""

from __future__ import annotations

import os
import time
from pathlib import Path

from sde.wire.status import METRICS_FILE
from service.metrics import declared as m
from service.metrics.metric_set import MetricSet
from service.metrics.names import BoundedNames

_MOST_BYTES = 4 << 20  # of what an engine writes
_FRESH_SECONDS = 15.0  # a running engine writes it every five seconds at least


class Counts:
    """What one gateway counts; used in the thread of its event loop.

    `folder` is the data folder of the engine, where it writes its metrics; None: it is elsewhere.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.in_flight = 0  # requests that wait for their responses
        self._file = None if folder is None else folder / METRICS_FILE
        self._metrics = MetricSet(m.GATEWAY)
        self._metrics.add(m.HTTP_BODY_BYTES, 0)
        self._codes = BoundedNames()  # an engine newer than this gateway may send unknown ones

    def on_request(self, op: str, code: str) -> None:
        self._metrics.add(m.HTTP_REQUESTS, 1, op, self._codes.of(code))

    def on_body(self, size: int) -> None:
        self._metrics.add(m.HTTP_BODY_BYTES, size)

    def on_answer(self, lane: str, seconds: float) -> None:
        """The engine answered a question, by its lane or through Kafka."""
        self._metrics.observe(m.REQUEST_SECONDS, seconds, lane)

    def exposition(self, event_streams: int) -> bytes:
        engine = self._of_engine()
        self._metrics.put(m.UP, int(engine is not None))
        self._metrics.put(m.HTTP_IN_FLIGHT, self.in_flight)
        self._metrics.put(m.EVENT_STREAMS, event_streams)
        return (engine or b"") + self._metrics.exposition()

    def _of_engine(self) -> bytes | None:
        """What the engine wrote; None if that is not of now, or no engine wrote it."""
        if self._file is None:
            return None
        try:
            with self._file.open("rb") as file:
                age = time.time() - os.fstat(file.fileno()).st_mtime
                found = file.read(_MOST_BYTES + 1)
        except OSError:
            return None
        return found if age < _FRESH_SECONDS and len(found) <= _MOST_BYTES else None
