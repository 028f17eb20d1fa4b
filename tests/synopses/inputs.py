"""Streams of keys that differ in what makes summaries hard. All seeded."""

import numpy as np

NAMES = ("uniform", "zipf 0.7", "zipf 1.1", "zipf 2", "sorted", "constant", "adversarial")


def keys(name: str, seed: int, n: int, universe: int = 1_000) -> np.ndarray:
    """`n` whole-number keys below `universe`."""
    rng = np.random.default_rng(seed)
    if name == "uniform":
        return rng.integers(0, universe, n)
    if name.startswith("zipf"):
        ranks = np.arange(1, universe + 1, dtype=float) ** -float(name.split()[1])
        return rng.choice(universe, n, p=ranks / ranks.sum())
    if name == "sorted":
        return np.sort(rng.integers(0, universe, n))
    if name == "constant":
        return np.full(n, rng.integers(universe))
    # One heavy key, then every other key once: what is small drowns in what is large.
    heavy = np.full(n // 2, rng.integers(universe))
    return np.concatenate([heavy, np.arange(n - n // 2) % universe])


def tolerated(delta: float, trials: int) -> float:
    """Share of failures that `delta` and three standard deviations of chance allow."""
    return delta + 3 * np.sqrt(delta * (1 - delta) / trials)
