"""From progress to a rate: how fast something went once it was going.

Progress is a list of marks (seconds, tuples done so far). Starting and finishing are not steady,
so a rate is taken between two marks inside; how, depends on who works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

WARM_UP = 0.25  # of the tuples of an engine that works in batches: left out at the beginning
SHORTEST = 1.0  # seconds that say something about workers side by side


class TooShort(Exception):
    """The measurement was over too soon to mean anything."""


@dataclass(frozen=True, slots=True)
class Mark:
    seconds: float
    tuples: int


@dataclass(frozen=True, slots=True)
class Spread:
    """Median of the rounds, worst and best."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> Spread:
        return cls(median(figures), min(figures), max(figures))


def steady_rate(workers: Sequence[Sequence[Mark]]) -> float:
    """Tuples a second of workers side by side, while all of them were busy.

    From the first mark of the last to begin to the end of the first to finish. Nothing more is
    cut off at the start: a consumer fetches ahead, and would then be paid for reading tuples that
    were fetched before the clock ran.
    """
    start = max(marks[0].seconds for marks in workers)
    end = min(marks[-1].seconds for marks in workers)
    if end - start < SHORTEST:
        raise TooShort(f"all workers were busy for {end - start:.2f} s only: give more tuples")
    done = sum(_at(marks, end) - _at(marks, start) for marks in workers)
    return done / (end - start)


def _at(marks: Sequence[Mark], seconds: float) -> float:
    times, tuples = zip(*((m.seconds, m.tuples) for m in marks), strict=True)
    return float(np.interp(seconds, times, tuples))


def whole_rate(marks: Sequence[Mark]) -> float:
    """Tuples a second from the beginning of the first batch to the end of the last."""
    return marks[-1].tuples / (marks[-1].seconds - marks[0].seconds)


def batch_rate(marks: Sequence[Mark]) -> float:
    """Tuples a second of an engine that works in batches.

    The first mark is the beginning of the first batch, the others are ends. The warm-up is left
    out, and a last batch that is not full: it costs as much to begin and end as any other.
    """
    total = marks[-1].tuples
    sizes = np.diff([m.tuples for m in marks])
    kept = list(marks)
    if len(sizes) > 1 and sizes[-1] < np.median(sizes[:-1]) / 2:
        kept.pop()
    warm = [m for m in kept if m.tuples >= WARM_UP * total]
    first, last = warm[0] if len(warm) > 1 else kept[0], kept[-1]
    return (last.tuples - first.tuples) / (last.seconds - first.seconds)
