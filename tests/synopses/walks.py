"""Streams of values with many, few and no correlations. All seeded."""

import numpy as np

from synopses import Items, Streams

NAMES = ("random walks", "white noise", "factors", "opposites", "constants")


def values(name: str, seed: int, streams: int, ticks: int) -> np.ndarray:
    """(streams, ticks) values."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(streams, ticks))
    if name == "white noise":
        return steps
    if name == "random walks":
        return 100 + steps.cumsum(axis=1)
    common = rng.normal(size=(4, ticks))[np.arange(streams) % 4]
    walks = 1e4 + (common + rng.uniform(0.05, 1, (streams, 1)) * steps).cumsum(axis=1)
    if name == "opposites":
        walks[::2] *= -3
    if name == "constants":
        walks[::3] = 0.1
        walks[1::3] = np.arange(streams)[1::3, None]
    return walks


def bank_of(template, x: np.ndarray, start: int = 0) -> Streams:
    """Each row of x as a stream with one item a tick, tick 0 at `start` ms."""
    streams, ticks = x.shape
    bank = {n: np.zeros((streams, *s), t) for n, (t, s) in template.layout().items()}
    times = start + template.interval_ms * np.repeat(np.arange(ticks), streams)
    slots = np.tile(np.arange(streams, dtype=np.int32), ticks)
    template.add_slots(bank, slots, Items.of(values=x.T.ravel(), times=times))
    return Streams([f"s{i}" for i in range(streams)], bank)


def correlations(x: np.ndarray) -> np.ndarray:
    """Exact correlations of the rows; 0 for those that do not move."""
    deviations = x - x.mean(axis=1, keepdims=True)
    deviations[np.ptp(x, axis=1) == 0] = 0
    length = np.sqrt((deviations**2).sum(axis=1, keepdims=True))
    unit = deviations / np.where(length > 0, length, 1)
    return unit @ unit.T
