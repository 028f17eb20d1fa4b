"""Questions asked one after another, and where the time of each went."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.batches import Batch
from clients import Client

COUNTED, WHOLE = "counted", "whole"  # what is asked: for each stream, of the whole data set


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: sent and answered (seconds since the epoch), and the batch that did it."""

    sent: float
    answered: float
    batch: int

    @property
    def seconds(self) -> float:
        return self.answered - self.sent


@dataclass(frozen=True, slots=True)
class Percentiles:
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, asked: Sequence[Asked]) -> Percentiles:
        return cls(*(float(p) for p in np.percentile([a.seconds for a in asked], [50, 95, 99])))


def ask(question: Callable[[], int], enough: Callable[[int], bool]) -> list[Asked]:
    """Again and again, at no fixed beat, until there are enough. `question` returns the batch."""
    rng = np.random.default_rng(3)
    asked: list[Asked] = []
    while not enough(len(asked)):
        time.sleep(rng.uniform(0, 0.3))
        sent = time.time()
        batch = question()
        asked.append(Asked(sent, time.time(), batch))
    return asked


def create_and_ask(sde: Client, dataset: str, times: int) -> list[Asked]:
    """From a create to the first answer of what it created."""
    asked = []
    for number in range(times):
        sent = time.time()
        made = sde.create("hyperloglog", dataset=dataset, uid=f"new-{number}", key="trader")
        answer = made.estimate()
        asked.append(Asked(sent, time.time(), answer.batch))
        sde.delete(made)
    return asked


def where_time_goes(asked: Sequence[Asked], batches: Sequence[Batch]) -> dict[str, float]:
    """Mean seconds by stage, from the question's sending to the answer's coming.

    An answer comes before its batch is over, so the last line is negative by what came after.
    """
    by_number = {batch.number: batch for batch in batches}
    known = [(a, by_number[a.batch]) for a in asked if a.batch in by_number]
    if not known:
        return {}
    means = {"until the batch begins": np.mean([b.began - a.sent for a, b in known])}
    names = sorted({name for _, batch in known for name in batch.stages} - {"triggerExecution"})
    for name in names:
        means[name] = np.mean([batch.stages.get(name, 0.0) for _, batch in known])
    means["from the batch's end to the answer"] = np.mean([a.answered - b.ended for a, b in known])
    return {name: float(mean) for name, mean in means.items()}
