"""What every contender that is not the engine does: read a topic to its end, note progress.

A worker is a process of its own, perhaps with another interpreter, so this needs only Python
itself. It gets its job as a JSON text and prints its marks as one.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

COUNT_MIN = {"num_hashes": 5, "num_buckets": 272}  # epsilon 0.01, delta 0.01, as the engine's
_TUPLES_A_MARK = 10_000


@dataclass(frozen=True)
class Job:
    kafka: dict[str, Any]  # settings of a client
    topic: str
    form: str  # "json", "trades", "lines", "arrow" or "avro"
    scope: str  # "stream": a sketch for each; "dataset": one
    ends: dict[int, int]  # partitions to read, and the offset behind the last message of each
    name: str  # of the run; consumer groups are named by it
    workers: list[str]  # addresses, for those that talk to each other
    number: int  # which of them this is

    @property
    def servers(self) -> str:
        return str(self.kafka["bootstrap.servers"])

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_arguments(cls) -> Job:
        read = json.loads(sys.argv[1])
        return cls(**{**read, "ends": {int(p): end for p, end in read["ends"].items()}})


class Progress:
    """Counts tuples and remembers when there were how many."""

    def __init__(self) -> None:
        self.tuples = 0
        self._latest = 0.0
        self._marks: list[tuple[float, int]] = []
        self._next = 0

    def add(self, tuples: int, seconds: float | None = None) -> None:
        """They are done now, or were at a time somebody else noted."""
        self.tuples += tuples
        self._latest = time.time() if seconds is None else seconds
        if self.tuples >= self._next:
            self._mark()

    def _mark(self) -> None:
        self._marks.append((self._latest, self.tuples))
        self._next = self.tuples + _TUPLES_A_MARK

    def print(self) -> None:
        if not self._marks or self._marks[-1][1] != self.tuples:
            self._mark()
        print(json.dumps(self._marks), flush=True)
