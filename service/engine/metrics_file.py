"""The file in which an engine writes its metrics, for the gateway's `/metrics` and for collectors
of text files."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from importlib import metadata
from typing import get_args

import msgspec

from sde.records.figures import LEFT_OUT_REASONS, Figures, unpack_figures
from sde.wire import Code
from sde.wire.status import METRICS_FILE, State
from service.engine.collector import EngineCollector
from service.kafka.handover import Handover
from service.kafka.offsets import Offsets
from service.metrics import declared as m
from service.metrics.metric_set import MetricSet
from service.settings import Settings

_SECONDS, _IDLE_SECONDS = 1.0, 5.0  # between two writings: while batches run, and while none does


class MetricsFile:
    """Call `write` several times a second."""

    def __init__(self, settings: Settings) -> None:
        self._path = settings.data_dir.absolute() / METRICS_FILE
        self._metrics = MetricSet(m.ENGINE)
        self.collector = EngineCollector(self._metrics)
        self._handover = Handover(settings.figures_folder.absolute())
        self._written, self._has_news = -_IDLE_SECONDS, True
        self._state: State | None = None
        self._put_what_stays(settings)

    def begin(self) -> None:
        """When the folders are ours: forget what an earlier run left there."""
        self._handover.clear()

    def _put_what_stays(self, settings: Settings) -> None:
        """What does not change, and a 0 where else the first count would not be seen as growth."""
        version, spark = (metadata.version(name) for name in ("synopses-data-engine", "pyspark"))
        self._metrics.put(m.BUILD_INFO, 1, version, platform.python_version(), spark)
        self._metrics.put(m.STARTED, time.time())
        self._metrics.put(m.STATE_LIMIT, settings.limits.max_dataset_bytes, "dataset")
        self._metrics.put(m.STATE_LIMIT, settings.limits.max_bytes, "engine")
        for metric in (m.BATCHES, m.ARENA_REBUILDS):
            self._metrics.add(metric, 0)
        for code in Code:
            self._metrics.add(m.DEAD_LETTERS, 0, code)
        for reason in LEFT_OUT_REASONS:
            self._metrics.add(m.LEFT_OUT, 0, reason)

    def write(
        self,
        state: State,
        *,
        kafka_is_up: bool,
        passed_over: int,
        left: Offsets,
        sites: Mapping[str, bool],
    ) -> None:
        """Take what batches handed over, and write the file if it is time.

        `sites`: other sites, and whether they are up.
        """
        for batch, bodies in self._handover.take():
            self._has_news = True
            self.collector.on_figures(batch, _figures(bodies))
        pause = _SECONDS if self._has_news else _IDLE_SECONDS
        if time.monotonic() < self._written + pause and state == self._state:
            return
        self._written, self._state, self._has_news = time.monotonic(), state, False
        self.collector.settle(time.time(), left)
        for one in get_args(State):
            self._metrics.put(m.STATE, int(one == state), one)
        self._metrics.put(m.KAFKA_UP, int(kafka_is_up))
        self._metrics.put(m.PASSED_OVER, passed_over)
        self._metrics.put_all(m.SITE_UP, {site: int(is_up) for site, is_up in sites.items()})
        new = self._path.with_name(f".{METRICS_FILE}-new")
        new.write_bytes(self._metrics.exposition())
        new.replace(self._path)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)


def _figures(bodies: list[bytes]) -> list[Figures]:
    """Those that can be read: a defect in figures must not end the engine."""
    found = []
    for body in bodies:
        try:
            found.append(unpack_figures(body))
        except msgspec.DecodeError:
            continue
    return found
