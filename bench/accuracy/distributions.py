"""Kinds about the distribution of values: quantiles, histograms, moments."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from bench.accuracy.inputs import bank, values
from bench.accuracy.promise import Errors, promise

N = 2_000
SHARES = (0.0, 0.01, 0.1, 0.5, 0.9, 0.99, 1.0)


def _bank(kind: str, name: str, seeds: range, **params: Any) -> list[Any]:
    return bank(kind, seeds, lambda seed: {"values": values(name, seed, N)}, **params)


def _exact(ordered: Any, q: float) -> float:
    """The smallest value with at least the share q of all values up to it."""
    return float(ordered[max(1, int(np.ceil(q * len(ordered)))) - 1])


@promise("quantiles", says="rank of a quantile within 2.296 / k^0.9723", delta=0.01)
def ranks(kind: str, name: str, seeds: range) -> Errors:
    errors, k = [], 100
    for seed, sketch in zip(seeds, _bank(kind, name, seeds, k=k), strict=True):
        ordered = np.sort(values(name, seed, N))
        for q in SHARES:
            found = sketch.quantile(q).value
            # A value that occurs often has all the ranks from its first to its last.
            least = np.searchsorted(ordered, found, "left") / N
            most = np.searchsorted(ordered, found, "right") / N
            errors.append(max(least - q, q - most, 0.0) / (2.296 / k**0.9723))
    return np.array(errors)


@promise("histogram", says="a quantile lies in the bucket stated")
def bucket(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed, sketch in zip(
        seeds, _bank(kind, name, seeds, low=0, high=120, buckets=60), strict=True
    ):
        ordered = np.sort(values(name, seed, N))
        for q in SHARES:
            answer, truth = sketch.quantile(q), _exact(ordered, q)
            above = answer.lower is None or answer.lower <= truth
            below = answer.upper is None or truth <= answer.upper
            errors.append(abs(answer.value - truth) / 2 if above and below else np.inf)
            if answer.lower is None or answer.upper is None:
                errors[-1] = 0.0 if above and below else np.inf
    return np.array(errors)


@promise("log_histogram", says="a quantile is off by at most relative_error times itself")
def relative(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed, sketch in zip(seeds, _bank(kind, name, seeds, relative_error=0.02), strict=True):
        ordered = np.sort(values(name, seed, N))
        for q in SHARES:
            truth = _exact(ordered, q)
            errors.append(abs(sketch.quantile(q).value - truth) / (0.02 * truth * (1 + 1e-12)))
    return np.array(errors)


@promise("moments", says="every answer is the exact one, rounded", share_of_seeds=0.1)
def exact(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed, sketch in zip(seeds, _bank(kind, name, seeds), strict=True):
        x = [Fraction(value) for value in values(name, seed, N).tolist()]
        mean = sum(x) / N
        variance = sum((value - mean) ** 2 for value in x) / N
        for answer, truth in (
            *((sketch.sum(), sum(x)), (sketch.mean(), mean), (sketch.variance(), variance)),
            *((sketch.min(), min(x)), (sketch.max(), max(x)), (sketch.count(), N)),
        ):
            errors.append(0.0 if answer.value == float(truth) else np.inf)
    return np.array(errors)
