"""Streams that differ in what makes summaries hard. All seeded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synopses import KINDS, BankedSynopsis, Items

KEY_STREAMS = ("uniform", "zipf 0.7", "zipf 1.1", "zipf 2", "sorted", "constant", "adversarial")
WALKS = ("random walks", "white noise", "factors", "opposites", "constants")


def keys(name: str, seed: int, n: int, universe: int) -> NDArray[np.int64]:
    """`n` keys of `universe`, and no key of another seed."""
    rng = np.random.default_rng(seed)
    if name.startswith("zipf"):
        shares = np.arange(1, universe + 1, dtype=float) ** -float(name.split()[1])
        found = rng.choice(universe, n, p=shares / shares.sum())
    elif name == "constant":
        found = np.full(n, rng.integers(universe))
    elif name == "adversarial":
        # One heavy key, then every other key once: what is small drowns in what is large.
        found = np.concatenate([np.full(n // 2, universe), np.arange(n - n // 2) % universe])
    else:
        found = rng.integers(0, universe, n)
        found = np.sort(found) if name == "sorted" else found
    return found + seed * (universe + 1)


def values(name: str, seed: int, n: int) -> NDArray[np.float64]:
    """`n` positive values."""
    rng = np.random.default_rng(seed)
    if name == "adversarial":
        # Each value is a new smallest or largest one, and the largest are far away.
        far, near = 1e6 + np.arange(n), 1 / (1.0 + np.arange(n))
        return np.where(np.arange(n) % 2, far, near)
    if name in ("uniform", "sorted"):
        found = rng.uniform(0.01, 100, n)
        return np.sort(found) if name == "sorted" else found
    return (1 + keys(name, seed, n, 1000) - seed * 1001).astype(np.float64)


def walks(name: str, seed: int, streams: int, ticks: int) -> NDArray[np.float64]:
    """(streams, ticks) values with many, few and no correlations."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(streams, ticks))
    if name == "white noise":
        return steps
    if name == "random walks":
        return 100 + steps.cumsum(axis=1)
    common = rng.normal(size=(4, ticks))[np.arange(streams) % 4]
    found: NDArray[np.float64] = 1e4 + (common + rng.uniform(0.05, 1, (streams, 1)) * steps).cumsum(
        axis=1
    )
    if name == "opposites":
        found[::2] *= -3
    if name == "constants":
        found[::3] = 0.1
    return found


def bank(
    kind: str, seeds: range, items: Callable[[int], dict[str, Any]], **params: Any
) -> list[Any]:
    """A synopsis for each seed with that seed's items, all in one bank."""
    template: Any = KINDS[kind](**params)
    assert isinstance(template, BankedSynopsis)
    arrays = {n: np.zeros((len(seeds), *s), t) for n, (t, s) in template.layout().items()}
    columns = [items(seed) for seed in seeds]
    joined = {name: np.concatenate([c[name] for c in columns]) for name in columns[0]}
    sizes = [len(next(iter(c.values()))) for c in columns]
    slots = np.repeat(np.arange(len(seeds), dtype=np.int32), sizes)
    template.add_slots(arrays, slots, Items.of(**joined))
    return [template.at(arrays, slot) for slot in range(len(seeds))]
