"""What each batch did, one JSON line each, in the logs folder: for operators and measurements."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict, cast

from pyspark.sql.streaming.query import StreamingQuery

from service.kafka.offsets import Offsets, OffsetsJson, from_json, of_logs


class SourceProgress(TypedDict):
    """The part of Spark's report on a source that is used here. Offsets are JSON text."""

    endOffset: str | None
    latestOffset: str | None


class QueryProgress(TypedDict):
    """The part of Spark's report on a batch that is used here."""

    batchId: int
    timestamp: str
    durationMs: dict[str, int]
    sources: list[SourceProgress]


class BatchLine(TypedDict):
    """A line of the log."""

    batch: int
    at: str
    milliseconds: dict[str, int]
    offsets: OffsetsJson
    passed_over: int  # messages that killed, in the life of the checkpoint


class ProgressLog:
    """Call `follow` several times a minute: Spark remembers its last hundred reports.

    `on_batch` is called with each batch, once.
    """

    def __init__(
        self, path: Path, on_batch: Callable[[QueryProgress], None] = lambda _: None
    ) -> None:
        self._path, self._on_batch = path, on_batch
        self._last = -1
        self.last_batch = ""  # when it began
        self.reached: Offsets = {}  # by the last batch
        self.left: Offsets = {}  # messages that were left to be read when it ended

    @property
    def batches(self) -> int:
        """Of the checkpoint, as far as this run of the engine knows."""
        return self._last + 1

    @property
    def lag(self) -> int | None:
        """How many messages were left to be read when the last batch ended, if there was one."""
        return sum(self.left.values()) if self.left else None

    @property
    def behind(self) -> dict[str, int]:
        """The same by log, where there are some."""
        found: Counter[str] = Counter()
        for (log, _), count in self.left.items():
            found[log] += count
        return {log: count for log, count in found.most_common() if count}

    def follow(self, query: StreamingQuery, passed_over: int = 0) -> None:
        """Write the batches that ran since the last call; `passed_over` messages are left out."""
        latest = cast("QueryProgress | None", query.lastProgress)
        if latest is None:
            return
        recent = [latest]
        if latest["batchId"] > self._last + 1:  # a hundred reports: only if some were missed
            recent = cast("list[QueryProgress]", query.recentProgress)
        new = [report for report in recent if _ran(report) and report["batchId"] > self._last]
        if new:
            with self._path.open("a") as file:
                for progress in new:
                    file.write(json.dumps(_line(progress, passed_over)) + "\n")
                    self._on_batch(progress)
            self._last, self.last_batch = new[-1]["batchId"], new[-1]["timestamp"]
        latest_sources = recent[-1]["sources"]
        for source in latest_sources:
            self.reached |= _offsets(source["endOffset"])
            self.left |= _left(source)


def _ran(progress: QueryProgress) -> bool:
    """False for the reports of an idle query, which have the number of the batch to come."""
    return "addBatch" in progress["durationMs"]


def _left(source: SourceProgress) -> Offsets:
    latest, reached = _offsets(source["latestOffset"]), _offsets(source["endOffset"])
    return {place: max(0, end - reached.get(place, 0)) for place, end in latest.items()}


def _offsets(text: str | None) -> Offsets:
    return of_logs(from_json(_offsets_json(text)))


def _offsets_json(text: str | None) -> OffsetsJson:
    """Empty for the "null" that Spark writes before a source has told an offset."""
    offsets: OffsetsJson | None = json.loads(text or "{}")
    return offsets or {}


def _line(progress: QueryProgress, passed_over: int) -> BatchLine:
    reached: OffsetsJson = {}
    for source in progress["sources"]:
        reached |= _offsets_json(source["endOffset"])
    return {
        "batch": progress["batchId"],
        "at": progress["timestamp"],
        "milliseconds": progress["durationMs"],
        "offsets": reached,
        "passed_over": passed_over,
    }
