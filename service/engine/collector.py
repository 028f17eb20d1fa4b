"""The engine's metrics, out of what Spark reports of batches and what batches hand over."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import assert_never

from sde.records.figures import (
    WATCH_ANSWER,
    Committed,
    EngineFigures,
    Figures,
    Reading,
    ShardFigures,
    Watched,
    Written,
)
from service.engine.progress import QueryProgress
from service.kafka.offsets import Key, Offsets
from service.kafka.read_logs import topic_of
from service.metrics import declared as m
from service.metrics.metric_set import MetricSet
from service.metrics.names import BoundedNames

_MS = 1000.0
_EXPORTED = (m.WATCH_VALUE, m.WATCH_LOWER, m.WATCH_UPPER)
# What Spark calls the parts of a batch; triggerExecution is all of it.
_PHASES = (
    "latestOffset",
    "getBatch",
    "queryPlanning",
    "walCommit",
    "addBatch",
    "commitBatch",
    "commitOffsets",
    "triggerExecution",
)


class EngineCollector:
    """Lives in the process of `sde serve`: everything is called in its main thread.

    Counters begin at 0 when the engine starts. `settle` brings what depends on the time of day, and
    what is summed over shards, up to date before the metrics are written.
    """

    def __init__(self, metrics: MetricSet) -> None:
        self._metrics = metrics
        self._topics, self._kinds, self._datasets = BoundedNames(), BoundedNames(), BoundedNames()
        self._newest: dict[Key, int] = {}  # when the last message of a partition came, ms
        self._shards: dict[int, ShardFigures] = {}
        self._batch = -1  # the last whose figures were taken

    # -- Spark's reports -------------------------------------------------------------------------

    def on_batch(self, progress: QueryProgress) -> None:
        """Called by `ProgressLog` with each batch."""
        self._metrics.add(m.BATCHES, 1)
        began = datetime.fromisoformat(progress["timestamp"]).timestamp()
        self._metrics.put(m.LAST_BATCH, began)
        for phase, milliseconds in progress["durationMs"].items():
            if phase in _PHASES:
                self._metrics.observe(m.BATCH_SECONDS, milliseconds / _MS, phase)

    # -- what batches hand over ------------------------------------------------------------------

    def on_figures(self, batch: int, figures: list[Figures]) -> None:
        """Called with each batch that was committed; with one that was before, nothing is done."""
        if batch <= self._batch:
            return
        self._batch = batch
        for one in figures:
            match one:
                case Reading():
                    self._on_reading(one)
                case ShardFigures():
                    self._on_shard(one)
                case Written():
                    self._on_written(one)
                case Committed(seconds=seconds):
                    self._metrics.observe(m.COMMIT_SECONDS, seconds)
                case never:
                    assert_never(never)

    def _on_reading(self, reading: Reading) -> None:
        place = (reading.topic, reading.partition)
        self._newest[place] = max(reading.newest, self._newest.get(place, 0))
        for taken in reading.taken:
            self._metrics.add(m.MESSAGES, taken.messages, taken.form)
            self._metrics.add(m.TUPLES, taken.tuples, taken.form)
            self._metrics.add(m.TUPLE_BYTES, taken.size, taken.form)
        self._metrics.add(m.OFFSETS_LOST, reading.lost, self._topics.of(reading.topic))

    def _on_shard(self, figures: ShardFigures) -> None:
        self._shards[figures.shard] = figures
        self._metrics.add(m.ARENA_REBUILDS, int(figures.rebuilt))
        for reason, count in figures.left_out.items():
            self._metrics.add(m.LEFT_OUT, count, reason)

    def _on_written(self, written: Written) -> None:
        for code, count in written.letters.items():
            self._metrics.add(m.DEAD_LETTERS, count, code)
        for op, code, count in written.replies:
            if op == WATCH_ANSWER:
                self._metrics.add(m.WATCH_ANSWERS, count, code)
            else:
                self._metrics.add(m.REQUESTS, count, op, code)
        for watch, watched in written.watched.items():
            self._export(watch, watched)

    def _export(self, watch: str, watched: Watched | None) -> None:
        figures = (watched.value, watched.lower, watched.upper) if watched else (None,) * 3
        for metric, figure in zip(_EXPORTED, figures, strict=True):
            if figure is None:
                self._metrics.drop(metric, watch)
            else:
                self._metrics.put(metric, figure, watch)

    # -- before the metrics are written ----------------------------------------------------------

    def settle(self, now: float, left: Offsets) -> None:
        """`now` in seconds of the epoch; `left`: messages to be read, by log and partition."""
        self._settle_lag(now, left)
        self._settle_datasets(now)
        sizes = [(one.log_bytes, one.snapshot_bytes) for one in self._shards.values()]
        if sizes:
            self._metrics.put(m.CHECKPOINT_BYTES, sum(log for log, _ in sizes), "log")
            self._metrics.put(m.CHECKPOINT_BYTES, sum(kept for _, kept in sizes), "snapshot")
        first = self._shards.get(0)
        if first is not None and first.engine is not None:
            self._settle_engine(now, first.engine)

    def _settle_lag(self, now: float, left: Offsets) -> None:
        messages: dict[str, float] = defaultdict(float)
        seconds: dict[str, float] = {}
        for (log, partition), count in left.items():
            topic = topic_of(log)
            messages[topic] += count
            newest = self._newest.get((topic, partition))
            if newest:
                age = max(0.0, now - newest / _MS) if count else 0.0
                seconds[topic] = max(age, seconds.get(topic, 0.0))
        self._metrics.put_all(m.LAG_MESSAGES, self._topics.sums(messages))
        self._metrics.put_all(m.LAG_SECONDS, self._topics.highest(seconds))

    def _settle_datasets(self, now: float) -> None:
        size: dict[str, float] = defaultdict(float)
        streams: dict[str, float] = defaultdict(float)
        behind: dict[str, float] = {}
        for shard in self._shards.values():
            for name, dataset in shard.datasets.items():
                size[name] += dataset.size + dataset.promised
                streams[name] += dataset.streams
                if dataset.watermark is not None:
                    behind[name] = now - dataset.watermark / _MS
        self._metrics.put_all(m.STATE_BYTES, self._datasets.sums(size))
        self._metrics.put_all(m.STREAMS, self._datasets.sums(streams))
        self._metrics.put_all(m.WATERMARK_LAG, self._datasets.highest(behind))

    def _settle_engine(self, now: float, engine: EngineFigures) -> None:
        kinds = {kind: float(count) for kind, count in engine.synopses.items()}
        self._metrics.put_all(m.SYNOPSES, self._kinds.sums(kinds))
        self._metrics.put_all(m.PLUGINS, dict(engine.plugins))
        self._metrics.put(m.WATCHES, engine.watches)
        due = engine.watch_due
        self._metrics.put(m.WATCH_DELAY, 0.0 if due is None else max(0.0, now - due / _MS))
        for site, traffic in engine.sites.items():
            self._metrics.put(m.SITE_BYTES, traffic.received, site, "received")
            self._metrics.put(m.SITE_BYTES, traffic.sent, site, "sent")
