"""A promise of a kind, as a measurement: errors as multiples of what was promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.inputs import KEY_STREAMS
from synopses import Estimate

Errors = NDArray[np.float64]
Measure = Callable[[str, str, range], Errors]  # kind, name of the input, seeds

SEEDS_AT_ONCE = 100  # slots of one bank


@dataclass(frozen=True, slots=True)
class Promise:
    """A sentence about a kind's answers that fails for a share of at most `delta` of them.

    `measure` gives an answer's error as a multiple of the error promised: above 1 it is broken.
    With `on_average` the root of the mean square has to be at most 1 instead.
    """

    kind: str
    sentence: str
    delta: float
    measure: Measure
    inputs: tuple[str, ...]
    share_of_seeds: float
    on_average: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """How a promise did on one input."""

    kind: str
    sentence: str
    input: str
    seeds: int
    answers: int
    median: float
    p99: float
    worst: float
    broken: float
    allowed: float
    kept: bool


PROMISES: list[Promise] = []


def promise(
    *kinds: str,
    says: str,
    delta: float = 0.0,
    inputs: tuple[str, ...] = KEY_STREAMS,
    share_of_seeds: float = 1.0,
    on_average: bool = False,
) -> Callable[[Measure], Measure]:
    """Register a measurement for the kinds named; slow ones take a share of the seeds."""

    def register(measure: Measure) -> Measure:
        for kind in kinds:
            PROMISES.append(Promise(kind, says, delta, measure, inputs, share_of_seeds, on_average))
        return measure

    return register


def examine(made: Promise, seeds: int) -> Iterator[Finding]:
    """One finding for each input."""
    seeds = max(1, round(seeds * made.share_of_seeds))
    for name in made.inputs:
        parts = [
            made.measure(made.kind, name, range(first, min(first + SEEDS_AT_ONCE, seeds)))
            for first in range(0, seeds, SEEDS_AT_ONCE)
        ]
        yield _judge(made, name, seeds, np.concatenate(parts))


def _judge(made: Promise, name: str, seeds: int, errors: Errors) -> Finding:
    # Answers of one seed go wrong together, so chance is that of the seeds, not of the answers.
    if made.on_average:
        broken = float(np.sqrt(np.mean(errors**2)))
        allowed = 1 + 3 / np.sqrt(2 * seeds)
    else:
        broken = float((errors > 1).mean())
        allowed = made.delta + 3 * np.sqrt(made.delta * (1 - made.delta) / seeds)
    median, p99 = np.quantile(errors, [0.5, 0.99], method="lower").tolist()
    return Finding(
        kind=made.kind,
        sentence=made.sentence,
        input=name,
        seeds=seeds,
        answers=len(errors),
        median=median,
        p99=p99,
        worst=float(errors.max()),
        broken=broken,
        allowed=float(allowed),
        kept=bool(broken <= allowed),
    )


def off_by(answer: Estimate, truth: float) -> float:
    """Distance of the truth from an answer, as a multiple of the bound on that side."""
    if truth == answer.value:
        return 0.0
    bound = answer.lower if truth < answer.value else answer.upper
    if bound is None:
        return 0.0
    room = abs(bound - answer.value)
    return abs(truth - answer.value) / room if room else np.inf
