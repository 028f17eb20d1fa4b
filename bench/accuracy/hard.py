"""Inputs and parameters at the ends of what is allowed, whole and in merged parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.inputs import bank
from synopses import KINDS, BankedSynopsis, Estimate

Floats = NDArray[np.float64]

CASES = ("magnitudes", "magnitudes, merged", "smallest", "smallest, merged")
WHOLE = ("magnitudes", "smallest")  # for kinds that do not merge
SHARE_OF_SEEDS = 0.5
PARTS = 3
_PRECISION = 1e-12  # of sums of floats
# Powers of ten that sizes lie between, and whether signs are mixed; seeds take turns.
_SIZES = ((-12, -4), (-4, 1), (9, 12), (-12, 15), (14, 16))


def magnitudes(seed: int, n: int, signed: bool = True) -> Floats:
    """`n` numbers from 1e-12 to 1e15, all alike or mixed; of every second seed signs are mixed."""
    rng = np.random.default_rng(seed)
    low, high = _SIZES[seed % len(_SIZES)]
    found = 10.0 ** rng.uniform(low, high, n)
    if signed and seed // len(_SIZES) % 2:
        found *= rng.choice([-1.0, 1.0], n)
    return np.asarray(found)


def numbers(case: str, seed: int, n: int, signed: bool = True) -> Floats:
    """Hard numbers, or where the parameters are what is hard, plain ones."""
    if case.startswith("magnitudes"):
        return magnitudes(seed, n, signed)
    return np.random.default_rng(seed).integers(1, 10, n).astype(np.float64)


def parameters(case: str, smallest: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    return smallest if case.startswith("smallest") else plain


def synopses(
    case: str, kind: str, seeds: range, items: Callable[[int], dict[str, Any]], **params: Any
) -> list[Any]:
    """A synopsis for each seed, of all its items or merged from parts of them."""
    if not case.endswith("merged"):
        return bank(kind, seeds, items, **params)
    template: Any = KINDS[kind](**params)
    assert isinstance(template, BankedSynopsis)
    parts = [bank(kind, seeds, _part(items, part), **params) for part in range(PARTS)]
    for found, *others in zip(*parts, strict=True):
        for other in others:
            found.merge(other)
    return parts[0]


def _part(items: Callable[[int], dict[str, Any]], part: int) -> Callable[[int], dict[str, Any]]:
    """Every third item."""
    return lambda seed: {name: column[part::PARTS] for name, column in items(seed).items()}


def by_key(keys: NDArray[np.int64], weights: Floats) -> dict[int, float]:
    """The sum of each key's weights, without rounding in between."""
    return {key: math.fsum(weights[keys == key]) for key in np.unique(keys).tolist()}


def misses(answer: Estimate, truth: float, size: float, decimals: int = 3) -> float:
    """0 if the bounds hold the truth, infinity if not; `size`: of all that was added up.

    A saturated synopsis owes no bounds, but may be saturated only if there is cause.
    """
    room = _PRECISION * size
    if answer.details.get("saturated"):
        cause = size * 10.0**decimals >= 2.0**61
        return 0.0 if cause and (answer.lower is None or answer.lower - room <= truth) else np.inf
    return 0.0 if answer.lower - room <= truth <= answer.upper + room else np.inf
