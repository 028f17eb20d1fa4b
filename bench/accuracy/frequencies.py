"""Kinds about the weight of keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.accuracy.inputs import bank, keys
from bench.accuracy.promise import Errors, off_by, promise

N, UNIVERSE, ASKED = 500, 100, 20
EPSILON, DELTA = 0.05, 0.05
COUNTERS = ("frequent_items", "lossy_counting", "sticky_sampling")


def _asked(name: str, seed: int) -> tuple[list[int], list[int]]:
    """Some keys of a stream and how often they occur, the last one not at all."""
    found, counts = np.unique(keys(name, seed, N, UNIVERSE), return_counts=True)
    chosen = np.random.default_rng(seed).permutation(len(found))[:ASKED]
    return [*found[chosen].tolist(), -1 - seed], [*counts[chosen].tolist(), 0]


def _bank(kind: str, name: str, seeds: range, **params: Any) -> list[Any]:
    return bank(kind, seeds, lambda seed: {"keys": keys(name, seed, N, UNIVERSE)}, **params)


@promise(
    "count_min", "count_min_conservative", says="estimate - weight <= epsilon total", delta=DELTA
)
def exceeds(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed, sketch in zip(
        seeds, _bank(kind, name, seeds, epsilon=EPSILON, delta=DELTA), strict=True
    ):
        for key, weight in zip(*_asked(name, seed), strict=True):
            errors.append((sketch.frequency(str(key)).value - weight) / (EPSILON * N))
    return np.maximum(errors, 0)


@promise("count_min", "count_min_conservative", says="estimate >= weight")
def never_below(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed, sketch in zip(
        seeds, _bank(kind, name, seeds, epsilon=EPSILON, delta=DELTA), strict=True
    ):
        for key, weight in zip(*_asked(name, seed), strict=True):
            errors.append(np.inf if sketch.frequency(str(key)).value < weight else 0.0)
    return np.array(errors)


@promise("count_min", says="inner product - truth <= epsilon total total", delta=DELTA)
def inner_product(kind: str, name: str, seeds: range) -> Errors:
    sketches = _bank(kind, name, seeds, epsilon=EPSILON, delta=DELTA)
    errors = []
    for seed, sketch in zip(seeds, sketches, strict=True):
        counts = np.unique(keys(name, seed, N, UNIVERSE), return_counts=True)[1]
        twin = type(sketch).from_bytes(sketch.to_bytes())
        truth = float((counts**2).sum())
        errors.append((sketch.inner_product(twin).value - truth) / (EPSILON * N * N))
    return np.maximum(errors, 0)


@promise("ams", says="|f2 - truth| <= epsilon |a|²", delta=DELTA)
def second_moment(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed, sketch in zip(seeds, _bank(kind, name, seeds, epsilon=0.2, delta=DELTA), strict=True):
        truth = (np.unique(keys(name, seed, N, UNIVERSE), return_counts=True)[1] ** 2).sum()
        errors.append(abs(sketch.f2().value - truth) / (0.2 * truth))
    return np.array(errors)


@promise("ams", says="|estimate - weight| <= epsilon |a|", delta=DELTA)
def signed_frequency(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed, sketch in zip(seeds, _bank(kind, name, seeds, epsilon=0.2, delta=DELTA), strict=True):
        counts = np.unique(keys(name, seed, N, UNIVERSE), return_counts=True)[1]
        for key, weight in zip(*_asked(name, seed), strict=True):
            off = abs(sketch.frequency(str(key)).value - weight)
            errors.append(off / (0.2 * np.sqrt((counts**2).sum())))
    return np.array(errors)


@promise("ams", says="|join size - truth| <= epsilon |a| |b|", delta=DELTA)
def join_size(kind: str, name: str, seeds: range) -> Errors:
    # The second stream has half the keys of the first, and as many of its own.
    def other(seed: int) -> Any:
        return keys(name, seed, N, UNIVERSE) + UNIVERSE // 2

    params: dict[str, Any] = {"epsilon": 0.2, "delta": DELTA}
    ones = _bank(kind, name, seeds, **params)
    twos = bank(kind, seeds, lambda seed: {"keys": other(seed)}, **params)
    errors = []
    for seed, one, two in zip(seeds, ones, twos, strict=True):
        a, b = (
            np.unique(k, return_counts=True) for k in (keys(name, seed, N, UNIVERSE), other(seed))
        )
        _, i, j = np.intersect1d(a[0], b[0], return_indices=True)
        truth, lengths = (a[1][i] * b[1][j]).sum(), (a[1] ** 2).sum() * (b[1] ** 2).sum()
        errors.append(abs(one.join_size(two).value - truth) / (0.2 * np.sqrt(lengths)))
    return np.array(errors)


@promise(*COUNTERS, says="lower <= weight <= upper <= lower + epsilon total")
def counted(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed, sketch in zip(seeds, _bank(kind, name, seeds, epsilon=EPSILON), strict=True):
        for key, weight in zip(*_asked(name, seed), strict=True):
            answer = sketch.frequency(str(key))
            inside = answer.lower <= weight <= answer.upper
            width = (answer.upper - answer.lower) / (EPSILON * N)
            errors.append(width if inside else np.inf)
    return np.array(errors)


@promise(*COUNTERS, says="no key with the support is missing, none epsilon below it is shown")
def heavy(kind: str, name: str, seeds: range) -> Errors:
    asks = {
        "frequent_items": lambda s: s.heavy_hitters(0.1),
        "lossy_counting": lambda s: s.frequent(0.1),
        "sticky_sampling": lambda s: s.frequent(),
    }
    params: dict[str, Any] = {"support": 0.1} if kind == "sticky_sampling" else {}
    errors = []
    for seed, sketch in zip(
        seeds, _bank(kind, name, seeds, epsilon=EPSILON, **params), strict=True
    ):
        found = {int(row["key"]) for row in asks[kind](sketch).value}
        all_keys, counts = np.unique(keys(name, seed, N, UNIVERSE), return_counts=True)
        must = set(all_keys[counts >= 0.1 * N].tolist())
        may = set(all_keys[counts >= (0.1 - EPSILON) * N].tolist())
        errors.append(0.0 if must <= found <= may else np.inf)
    return np.array(errors)


@promise("top_k", says="totals within bounds, no key left out above `left_out`")
def largest(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed, sketch in zip(seeds, _bank(kind, name, seeds, k=5, epsilon=EPSILON), strict=True):
        answer = sketch.top()
        found, counts = np.unique(keys(name, seed, N, UNIVERSE), return_counts=True)
        exact = dict(zip(found.tolist(), counts.tolist(), strict=True))
        for row in answer.value:
            weight = exact.pop(int(row["key"]))
            inside = row["lower"] <= weight <= row["upper"]
            width = (row["upper"] - row["lower"]) / (EPSILON * N)
            errors.append(width if inside else np.inf)
        rest = max(exact.values(), default=0)
        errors.append(0.0 if rest <= answer.details["left_out"] else np.inf)
    return np.array(errors)


def _filters(name: str, seeds: range) -> list[Any]:
    """Filters that hold as many keys as they were made for."""
    distinct = max(len(np.unique(keys(name, seed, N, 4 * N))) for seed in seeds)
    items = {seed: {"keys": keys(name, seed, N, 4 * N)} for seed in seeds}
    return bank("bloom", seeds, items.__getitem__, capacity=distinct, fpp=0.02)


@promise("bloom", says="a key that was not added is found with probability fpp", delta=0.02)
def found_by_mistake(kind: str, name: str, seeds: range) -> Errors:
    return np.array(
        [
            np.inf if bloom.contains(f"absent {seed} {i}").value else 0.0
            for seed, bloom in zip(seeds, _filters(name, seeds), strict=True)
            for i in range(ASKED)
        ]
    )


@promise("bloom", says="a key that was added is found")
def found_rightly(kind: str, name: str, seeds: range) -> Errors:
    return np.array(
        [
            0.0 if bloom.contains(str(key)).value else np.inf
            for seed, bloom in zip(seeds, _filters(name, seeds), strict=True)
            for key in keys(name, seed, N, 4 * N)[:ASKED].tolist()
        ]
    )


@promise("bloom", says="distinct keys within bounds", delta=0.01)
def filter_cardinality(kind: str, name: str, seeds: range) -> Errors:
    return np.array(
        [
            off_by(bloom.cardinality(), len(np.unique(keys(name, seed, N, 4 * N))))
            for seed, bloom in zip(seeds, _filters(name, seeds), strict=True)
        ]
    )
