"""What the engine's own log says about its batches."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch: when it began and ended (seconds since the epoch), and how far it read."""

    number: int
    began: float
    stages: dict[str, float]  # seconds by Spark's names
    offsets: dict[tuple[str, int], int]

    @property
    def ended(self) -> float:
        return self.began + self.stages["triggerExecution"]


def read_batches(data_dir: Path) -> list[Batch]:
    """All batches so far; the engine adds a line for each."""
    path = data_dir / "logs" / "batches.jsonl"
    if not path.exists():
        return []
    whole, _, _ = path.read_text().rpartition("\n")  # a line may be half written
    return [_batch(line) for line in whole.splitlines()]


def _batch(line: str) -> Batch:
    read = json.loads(line)
    return Batch(
        number=read["batch"],
        began=datetime.fromisoformat(read["at"]).timestamp(),
        stages={name: taken / 1000 for name, taken in read["milliseconds"].items()},
        offsets={
            (topic, int(partition)): offset
            for topic, partitions in read["offsets"].items()
            for partition, offset in partitions.items()
        },
    )
