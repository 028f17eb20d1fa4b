"""Kinds about the weight of keys: weights from 1e-12 to 1e15, tiny sketches, merged parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.hard import (
    CASES,
    SHARE_OF_SEEDS,
    Floats,
    by_key,
    misses,
    numbers,
    parameters,
    synopses,
)
from bench.accuracy.promise import Errors, promise

N, UNIVERSE, ASKED = 200, 30, 10
DELTA = 0.05
TABLES = ("count_min", "count_min_conservative", "ams")
COUNTERS = ("frequent_items", "lossy_counting", "sticky_sampling")
SMALLEST: dict[str, dict[str, Any]] = {
    "count_min": {"epsilon": 0.99, "delta": DELTA},
    "count_min_conservative": {"epsilon": 0.99, "delta": DELTA},
    "ams": {"epsilon": 0.99, "delta": DELTA},
    "frequent_items": {"epsilon": 0.5, "max_key_bytes": 1},
    "lossy_counting": {"epsilon": 0.5, "max_key_bytes": 1},
    "sticky_sampling": {"epsilon": 0.5, "support": 0.5, "max_key_bytes": 1},
    "top_k": {"k": 1, "epsilon": 0.5, "max_key_bytes": 6},
}
PLAIN: dict[str, dict[str, Any]] = {
    **{kind: {"epsilon": 0.05, "delta": DELTA} for kind in TABLES},
    "ams": {"epsilon": 0.2, "delta": DELTA},
    **{kind: {"epsilon": 0.1} for kind in COUNTERS},
    "sticky_sampling": {"epsilon": 0.1, "support": 0.1},
    "top_k": {"k": 5, "epsilon": 0.1},
}


def _signed(kind: str) -> bool:
    """Other kinds leave weights out that are not positive."""
    return kind in ("count_min", "ams")


def _stream(kind: str, case: str, seed: int) -> tuple[NDArray[np.int64], Floats]:
    rng = np.random.default_rng(1_000_000 + seed)
    keys = rng.integers(0, UNIVERSE, N) + seed * UNIVERSE
    return keys, numbers(case, seed, N, _signed(kind))


def _filled(kind: str, case: str, seeds: range) -> Iterator[tuple[Any, NDArray[np.int64], Floats]]:
    """A synopsis for each seed, with the keys and weights that were added to it."""

    def items(seed: int) -> dict[str, Any]:
        keys, weights = _stream(kind, case, seed)
        return {"keys": keys, "values": weights}

    params = parameters(case, SMALLEST[kind], PLAIN[kind])
    for seed, synopsis in zip(seeds, synopses(case, kind, seeds, items, **params), strict=True):
        yield synopsis, *_stream(kind, case, seed)


@promise(
    *TABLES[:2],
    says="hard: weight within bounds",
    delta=DELTA,
    inputs=CASES,
    share_of_seeds=SHARE_OF_SEEDS,
)
@promise(
    "ams",
    says="hard: weight within bounds",
    delta=2 * DELTA,
    inputs=CASES,
    share_of_seeds=SHARE_OF_SEEDS,
)
@promise(*COUNTERS, says="hard: weight within bounds", inputs=CASES, share_of_seeds=SHARE_OF_SEEDS)
def within_bounds(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    filled = _filled(kind, case, seeds)
    for seed, (synopsis, keys, weights) in zip(seeds, filled, strict=True):
        truth, size = by_key(keys, weights), float(np.abs(weights).sum())
        for key in [*list(truth)[:ASKED], -1 - seed]:
            answer = synopsis.estimate({"type": "frequency", "key": key})
            errors.append(misses(answer, truth.get(key, 0.0), size))
    return np.array(errors)


@promise(
    *("count_min", "count_min_conservative", "frequent_items"),
    says="hard: total within bounds",
    inputs=CASES,
    share_of_seeds=SHARE_OF_SEEDS,
)
def totals(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    for synopsis, _, weights in _filled(kind, case, seeds):
        size = float(np.abs(weights).sum())
        errors.append(misses(synopsis.total(), float(weights.sum()), size))
    return np.array(errors)


@promise(
    "count_min", says="hard: inner product within bounds", delta=DELTA, inputs=CASES,
    share_of_seeds=SHARE_OF_SEEDS,
)  # fmt: skip
@promise(
    "ams", says="hard: join size within bounds", delta=3 * DELTA, inputs=CASES,
    share_of_seeds=SHARE_OF_SEEDS,
)  # fmt: skip
def products(kind: str, case: str, seeds: range) -> Errors:
    """Of each stream with itself."""
    errors = []
    for synopsis, keys, weights in _filled(kind, case, seeds):
        truth, size = by_key(keys, weights), float(np.abs(weights).sum())
        twin = type(synopsis).from_bytes(synopsis.to_bytes())
        query = "inner_product" if kind == "count_min" else "join_size"
        answer = synopsis.estimate({"type": query}, twin)
        if answer.details.get("saturated"):
            errors.append(misses(answer, 0.0, size))
        else:
            squares = sum(weight * weight for weight in truth.values())
            errors.append(misses(answer, squares, size * size))
    return np.array(errors)


@promise(
    "ams", says="hard: f2 within bounds", delta=DELTA, inputs=CASES, share_of_seeds=SHARE_OF_SEEDS
)
def second_moments(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    for synopsis, keys, weights in _filled(kind, case, seeds):
        size, answer = float(np.abs(weights).sum()), synopsis.f2()
        squares = sum(weight * weight for weight in by_key(keys, weights).values())
        saturated = answer.details.get("saturated")
        errors.append(misses(answer, squares, size if saturated else size * size))
    return np.array(errors)


@promise(
    *COUNTERS,
    says="hard: no key with the support is missing that weighs more than `left_out`",
    inputs=CASES,
    share_of_seeds=SHARE_OF_SEEDS,
)
def none_missing(kind: str, case: str, seeds: range) -> Errors:
    share = 0.5
    asks: dict[str, Any] = {
        "frequent_items": lambda s: s.heavy_hitters(share),
        "lossy_counting": lambda s: s.frequent(share),
        "sticky_sampling": lambda s: s.frequent(),
    }
    errors = []
    for synopsis, keys, weights in _filled(kind, case, seeds):
        truth, answer = by_key(keys, weights), asks[kind](synopsis)
        least = synopsis.support if kind == "sticky_sampling" else share
        # A key of one byte is shown cut, so the number of keys found is what can be compared.
        shown = len(answer.value)
        if answer.details.get("saturated"):
            errors.append(0.0)
            continue
        left_out = answer.details.get("left_out", 0.0)
        heavy = [w for w in truth.values() if w >= least * weights.sum() and w > left_out]
        errors.append(0.0 if len(heavy) <= shown else np.inf)
    return np.array(errors)


@promise(
    "top_k",
    says="hard: totals within bounds, no key left out above `left_out`",
    inputs=CASES,
    share_of_seeds=SHARE_OF_SEEDS,
)
def largest(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    for synopsis, keys, weights in _filled(kind, case, seeds):
        truth, answer = by_key(keys, weights), synopsis.top()
        room = 1e-12 * float(weights.sum())
        for row in answer.value:
            weight = truth.pop(int(row["key"]))
            above = row["upper"] is None or weight <= row["upper"] + room
            errors.append(0.0 if row["lower"] - room <= weight and above else np.inf)
        left_out = answer.details["left_out"]
        rest = max(truth.values(), default=0.0)
        errors.append(0.0 if left_out is None or rest <= left_out + room else np.inf)
    return np.array(errors)


@promise(
    "top_k",
    says="hard: by value exact",
    inputs=CASES,
    share_of_seeds=SHARE_OF_SEEDS,
)
def largest_values(kind: str, case: str, seeds: range) -> Errors:
    def items(seed: int) -> dict[str, Any]:
        keys, weights = _stream("count_min", case, seed)
        return {"keys": keys, "values": weights}

    errors = []
    found = synopses(case, kind, seeds, items, **parameters(case, {"k": 1}, {"k": 5}), by="value")
    for seed, synopsis in zip(seeds, found, strict=True):
        keys, weights = _stream("count_min", case, seed)
        best = sorted((weights[keys == k].max() for k in np.unique(keys)), reverse=True)
        shown = [row["value"] for row in synopsis.top().value]
        errors.append(0.0 if shown == best[: len(shown)] and shown else np.inf)
    return np.array(errors)
