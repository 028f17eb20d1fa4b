"""What each batch did, one JSON line each, in the logs folder: for operators and measurements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from service.kafka.offsets import Offsets, from_json


class ProgressLog:
    """Call `follow` now and then; Spark remembers its last hundred batches."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = -1
        self.caught_up = False  # when the last batch ended nothing was left to be read

    def follow(self, query: StreamingQuery) -> None:
        latest = query.lastProgress
        if latest is None:
            return
        recent = [latest]
        if latest["batchId"] > self._last + 1:  # a hundred reports: only if some were missed
            recent = query.recentProgress
        new = [p for p in recent if _ran(p) and p["batchId"] > self._last]
        if new:
            with self._path.open("a") as file:
                for progress in new:
                    file.write(json.dumps(_line(progress)) + "\n")
            self._last = new[-1]["batchId"]
        self.caught_up = all(_is_read(source) for source in recent[-1]["sources"])


def _ran(progress: Any) -> bool:
    """While nothing comes Spark reports now and then, under the number of the batch to come."""
    return "addBatch" in progress["durationMs"]


def _is_read(source: Any) -> bool:
    latest, reached = _offsets(source["latestOffset"]), _offsets(source["endOffset"])
    return all(reached.get(place, 0) >= end for place, end in latest.items())


def _offsets(text: str | None) -> Offsets:
    """Spark writes "null" where a source has not been asked yet."""
    return from_json(json.loads(text or "{}") or {})


def _line(progress: Any) -> dict[str, Any]:
    reached: dict[str, Any] = {}
    for source in progress["sources"]:
        reached |= json.loads(source["endOffset"] or "{}") or {}
    return {
        "batch": progress["batchId"],
        "at": progress["timestamp"],
        "milliseconds": progress["durationMs"],
        "offsets": reached,
    }
