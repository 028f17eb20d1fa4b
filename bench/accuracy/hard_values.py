"""Kinds about distinct keys and about values: extreme numbers, tiny synopses, merged parts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from bench.accuracy.hard import (
    CASES,
    SHARE_OF_SEEDS,
    Floats,
    misses,
    numbers,
    parameters,
    synopses,
)
from bench.accuracy.promise import Errors, promise

N = 300
SHARES = (0.0, 0.01, 0.3, 0.5, 0.9, 1.0)
DISTINCT_SMALLEST: dict[str, dict[str, Any]] = {
    "hyperloglog": {"lg_k": 4},
    "fm": {"bitmaps": 16},
    "theta": {"lg_k": 5},
    "bloom": {"capacity": 1, "fpp": 0.5},
}
DISTINCT_PLAIN: dict[str, dict[str, Any]] = {
    "hyperloglog": {"lg_k": 8},
    "fm": {"bitmaps": 100},
    "theta": {"lg_k": 7},
    "bloom": {"capacity": 200},
}


def _distinct(seed: int) -> int:
    """How many keys a seed has: from one to some thousand, small numbers as often as large."""
    return int(10 ** np.random.default_rng(seed).uniform(0, 3.3))


@promise(
    *DISTINCT_PLAIN,
    says="hard: distinct keys within bounds",
    delta=0.01,
    inputs=CASES,
    share_of_seeds=2.0,
)
def distinct(kind: str, case: str, seeds: range) -> Errors:
    def items(seed: int) -> dict[str, Any]:
        # Each key twice, in different parts.
        return {"keys": np.tile(np.arange(_distinct(seed)), 2) + seed * 100_000}

    params = parameters(case, DISTINCT_SMALLEST[kind], DISTINCT_PLAIN[kind])
    errors = []
    for seed, sketch in zip(seeds, synopses(case, kind, seeds, items, **params), strict=True):
        answer, truth = sketch.cardinality(), _distinct(seed)
        above = answer.upper is None or truth <= answer.upper
        errors.append(0.0 if answer.lower <= truth and above else np.inf)
    return np.array(errors)


def _values(case: str, seed: int) -> Floats:
    return numbers(case, seed, N)


def _synopses(kind: str, case: str, seeds: range, **params: Any) -> list[Any]:
    return synopses(case, kind, seeds, lambda seed: {"values": _values(case, seed)}, **params)


def _exact(ordered: Floats, q: float) -> float:
    """The smallest value with at least the share q of all values up to it."""
    return float(ordered[max(1, int(np.ceil(q * len(ordered)))) - 1])


@promise(
    "quantiles",
    says="hard: quantiles and ranks within bounds",
    delta=0.01,
    inputs=CASES,
    share_of_seeds=SHARE_OF_SEEDS,
)
def ranks(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    params = parameters(case, {"k": 8}, {"k": 50})
    for seed, sketch in zip(seeds, _synopses(kind, case, seeds, **params), strict=True):
        ordered = np.sort(_values(case, seed))
        for q in SHARES:
            answer, truth = sketch.quantile(q), _exact(ordered, q)
            least = np.searchsorted(ordered, answer.value, "left") / N
            most = np.searchsorted(ordered, answer.value, "right") / N
            errors.append(max(least - q, q - most, 0.0) / sketch.rank_error)
            rank = np.searchsorted(ordered, truth, "right") / N
            errors.append(misses(sketch.rank(truth), rank, 1.0))
    return np.array(errors)


@promise(
    *("histogram", "log_histogram"),
    says="hard: quantiles and ranks within bounds",
    inputs=CASES,
    share_of_seeds=SHARE_OF_SEEDS,
)
def buckets(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    if kind == "histogram":
        params = parameters(case, {"buckets": 1}, {"low": -1e9, "high": 1e9, "buckets": 1000})
    else:
        smallest = {"relative_error": 0.5, "smallest": 2.0, "largest": 3.0}
        plain = {"relative_error": 0.01, "smallest": 1e-12, "largest": 1e15}
        params = parameters(case, smallest, plain)
    for seed, sketch in zip(seeds, _synopses(kind, case, seeds, **params), strict=True):
        ordered = np.sort(_values(case, seed))
        for q in SHARES:
            answer, truth = sketch.quantile(q), _exact(ordered, q)
            above = answer.lower is None or answer.lower <= truth
            below = answer.upper is None or truth <= answer.upper
            errors.append(0.0 if above and below else np.inf)
            if kind == "log_histogram" and sketch.smallest <= abs(truth) < sketch.largest:
                off = abs(answer.value - truth) / (sketch.relative_error * abs(truth))
                errors.append(off / (1 + 1e-12))
            rank = np.searchsorted(ordered, truth, "right") / N
            errors.append(misses(sketch.rank(truth), rank, 1.0))
    return np.array(errors)


@promise("moments", says="hard: every answer is the exact one", inputs=CASES, share_of_seeds=0.05)
def exact(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    for seed, sketch in zip(seeds, _synopses(kind, case, seeds), strict=True):
        x = [Fraction(value) for value in _values(case, seed).tolist()]
        mean = sum(x) / N
        variance = sum((value - mean) ** 2 for value in x) / N
        for answer, truth in (
            *((sketch.sum(), sum(x)), (sketch.mean(), mean), (sketch.variance(), variance)),
            *((sketch.min(), min(x)), (sketch.max(), max(x)), (sketch.count(), N)),
        ):
            errors.append(0.0 if answer.value == float(truth) else np.inf)
    return np.array(errors)
