"""Kinds about the number of distinct keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.accuracy.inputs import bank, keys
from bench.accuracy.promise import Errors, off_by, promise

N = 3_000
PARAMS: dict[str, dict[str, Any]] = {
    "fm": {"bitmaps": 256},
    "hyperloglog": {"lg_k": 10},
    "theta": {"lg_k": 8},
}
STANDARD_ERROR = {"fm": 0.78 / 16, "hyperloglog": 1.04 / 32, "theta": 1 / np.sqrt(255)}


def _keys(name: str, seed: int) -> Any:
    return keys(name, seed, N, 2 * N)


def _bank(kind: str, name: str, seeds: range, shift: int = 0) -> list[Any]:
    return bank(kind, seeds, lambda seed: {"keys": _keys(name, seed) + shift}, **PARAMS[kind])


@promise("fm", "hyperloglog", "theta", says="distinct keys within bounds", delta=0.01)
def within_bounds(kind: str, name: str, seeds: range) -> Errors:
    sketches = _bank(kind, name, seeds)
    truths = [len(np.unique(_keys(name, seed))) for seed in seeds]
    answers = [sketch.cardinality() for sketch in sketches]
    return np.array([off_by(a, t) for a, t in zip(answers, truths, strict=True)])


@promise("fm", "hyperloglog", "theta", says="relative standard error as stated", on_average=True)
def standard_error(kind: str, name: str, seeds: range) -> Errors:
    sketches = _bank(kind, name, seeds)
    truths = np.array([len(np.unique(_keys(name, seed))) for seed in seeds])
    found = np.array([sketch.cardinality().value for sketch in sketches])
    return np.asarray(np.abs(found / truths - 1) / STANDARD_ERROR[kind])


@promise("theta", says="union, intersection and difference within bounds", delta=0.01)
def set_arithmetic(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    pairs = zip(_bank(kind, name, seeds), _bank(kind, name, seeds, shift=N), strict=True)
    for seed, (one, two) in zip(seeds, pairs, strict=True):
        a, b = set(_keys(name, seed).tolist()), set((_keys(name, seed) + N).tolist())
        errors.append(off_by(one.union(two), len(a | b)))
        errors.append(off_by(one.intersection(two), len(a & b)))
        errors.append(off_by(one.difference(two), len(a - b)))
    return np.array(errors)


@promise("theta", says="Jaccard index within bounds", delta=0.05)
def jaccard(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    pairs = zip(_bank(kind, name, seeds), _bank(kind, name, seeds, shift=N), strict=True)
    for seed, (one, two) in zip(seeds, pairs, strict=True):
        a, b = set(_keys(name, seed).tolist()), set((_keys(name, seed) + N).tolist())
        errors.append(off_by(one.jaccard(two), len(a & b) / len(a | b)))
    return np.array(errors)
