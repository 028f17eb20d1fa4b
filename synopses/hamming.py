"""Bitmaps that differ in few bits, and what that says about the angle between the vectors.

A bit of random-hyperplane hashing differs between two vectors with probability angle / pi, so of
d bits a binomially distributed number does.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from synopses.correlated_pairs import check_candidates
from synopses.kernels import binomial
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
    return int(binomial.quantile(bits, math.acos(threshold) / math.pi, recall))


@functools.lru_cache(maxsize=32)
def correlation_of(bits: int) -> NDArray[np.float64]:
    """Estimate, lower and upper bound of the correlation for each distance: (bits + 1, 3).

    The bounds are the Clopper-Pearson interval: exact for every distance.
    """
    chances = np.empty((bits + 1, 2))
    binomial.likely_chances(bits, (1 - CONFIDENCE) / 2, chances)
    angles = np.column_stack([np.arange(bits + 1) / bits, chances[:, 1], chances[:, 0]])
    return np.cos(np.pi * angles)


def search(
    bitmaps: Bitmaps, most: int, negative: bool, limit: int, threshold: float
) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Pairs that differ in at most `most` bits (with `negative`: or agree in at most so many).

    Rows (a, b, distance), the strongest `limit` of them, and how many there are in all. Bitmaps
    with very different numbers of set bits cannot be near: they are sorted by that number.
    QueryError, with the threshold that was asked for, if more are found than one answer may cost.
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
            check_candidates(counts["found"], threshold)
            strongest = _strongest(np.concatenate([strongest, pairs]), bits, limit)
    return strongest, counts


def _strongest(pairs: Indices, bits: int, limit: int) -> Indices:
    strength = -np.abs(bits - 2 * pairs[:, 2])
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0], strength))[:limit]]
