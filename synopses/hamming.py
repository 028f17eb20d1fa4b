"""Bitmaps that differ in few bits, and what that says about the angle between the vectors.

A bit of random-hyperplane hashing differs between two vectors with probability angle / pi, so of
d bits a binomially distributed number does.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from synopses.kernels import lsh as kernel

Bitmaps = NDArray[np.uint64]
Indices = NDArray[np.int64]

CONFIDENCE = 0.95
_PAIRS_AT_ONCE = 2_000_000


def distances(bitmaps: Bitmaps, bitmap: Bitmaps) -> Indices:
    """In how many bits each bitmap differs from one."""
    return np.asarray(np.bitwise_count(bitmaps ^ bitmap).sum(axis=1, dtype=np.int64))


def most_differing(bits: int, threshold: float, recall: float) -> int:
    """The distance that a pair with this correlation keeps with probability `recall`."""
    chance = np.array([math.acos(threshold) / math.pi])
    return int(np.argmax(_cumulative(bits, chance)[0] >= recall))


@functools.lru_cache(maxsize=32)
def correlation_of(bits: int) -> NDArray[np.float64]:
    """Estimate, lower and upper bound of the correlation for each distance: (bits + 1, 3).

    The bounds are the Clopper-Pearson interval, found by halving: exact for every distance.
    """
    distance = np.arange(bits + 1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.zeros((2, bits + 1)), np.ones((2, bits + 1))
    for _ in range(40):
        middle = (low + high) / 2
        at_most = _cumulative(bits, middle[1])[distance, distance]
        below = np.concatenate([[0.0], _cumulative(bits, middle[0])[distance[1:], distance[:-1]]])
        # Least chance under which so many or more are still likely; largest, so many or fewer.
        rise = np.stack([1 - below < tail, at_most > tail])
        low, high = np.where(rise, middle, low), np.where(rise, high, middle)
    least = np.where(distance == 0, 0.0, low[0])
    largest = np.where(distance == bits, 1.0, high[1])
    return np.cos(np.pi * np.column_stack([distance / bits, largest, least]))


def _cumulative(bits: int, chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """P[at most h of `bits` differ], for each chance and each h: (chances, bits + 1)."""
    h = np.arange(bits + 1)
    log_ways = np.array(
        [math.lgamma(bits + 1) - math.lgamma(k + 1) - math.lgamma(bits - k + 1) for k in h]
    )
    p = np.clip(chances, 1e-300, 1 - 1e-16)[:, None]
    return np.cumsum(np.exp(log_ways + h * np.log(p) + (bits - h) * np.log1p(-p)), axis=1)


def search(
    bitmaps: Bitmaps, most: int, negative: bool, limit: int
) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Pairs that differ in at most `most` bits (with `negative`: or agree in at most so many).

    Rows (a, b, distance), the strongest `limit` of them, and how many there are in all. Bitmaps
    with very different numbers of set bits cannot be near: they are sorted by that number.
    """
    bits = 64 * bitmaps.shape[1]
    weights = np.bitwise_count(bitmaps).sum(axis=1, dtype=np.int64)
    order = np.argsort(weights, kind="stable")
    points, weights = bitmaps[order], weights[order]
    rows = max(1, _PAIRS_AT_ONCE // max(1, len(points)))
    out = np.empty((rows * len(points), 3), np.int64)
    strongest = np.empty((0, 3), np.int64)
    counts = {"compared": 0, "found": 0}
    for opposite in (False, True) if negative else (False,):
        queries = ~points if opposite else points
        wanted = bits - weights if opposite else weights
        begins = np.maximum(np.searchsorted(weights, wanted - most), np.arange(len(points)) + 1)
        ends = np.searchsorted(weights, wanted + most, side="right")
        counts["compared"] += int(np.maximum(ends - begins, 0).sum())
        for first in range(0, len(points), rows):
            last = min(first + rows, len(points))
            n = kernel.near(queries, first, last, begins, ends, points, most, out)
            pairs = out[:n].copy()
            pairs[:, :2] = np.sort(order[pairs[:, :2]], axis=1)
            if opposite:
                pairs[:, 2] = bits - pairs[:, 2]
                pairs = pairs[pairs[:, 2] > most]
            counts["found"] += len(pairs)
            strongest = _strongest(np.concatenate([strongest, pairs]), bits, limit)
    return strongest, counts


def _strongest(pairs: Indices, bits: int, limit: int) -> Indices:
    strength = -np.abs(bits - 2 * pairs[:, 2])
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0], strength))[:limit]]
