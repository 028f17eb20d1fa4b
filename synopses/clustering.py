"""k-means of a few weighted points: k-means++ and Lloyd's steps."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_SEED = 9001
_STARTS = 5
_STEPS = 100

Floats = NDArray[np.float64]


class Clustering(NamedTuple):
    centres: Floats
    weights: Floats
    cost: float


def cluster(points: Floats, weights: Floats, k: int) -> Clustering:
    """The best of some runs of k-means; fewer than k centres if there are fewer points.

    Points are scaled to 1 first, so that squares do not overflow; a cost that would is 1e308.
    """
    scale = float(np.abs(points).max(initial=0.0)) or 1.0
    scaled = points / scale
    rng = np.random.default_rng(_SEED)
    runs = [_run(scaled, weights, k, rng) for _ in range(_STARTS if len(points) > k else 1)]
    best = min(runs, key=lambda run: run.cost)
    cost = min(best.cost * scale * scale, 1e308) if math.isfinite(scale * scale) else 1e308
    return Clustering(best.centres * scale, best.weights, cost if best.cost else 0.0)


def _run(points: Floats, weights: Floats, k: int, rng: np.random.Generator) -> Clustering:
    centres = _start(points, weights, k, rng)
    if not len(centres):
        return Clustering(centres, weights[:0], 0.0)
    before = math.inf
    for _ in range(_STEPS):
        squares = _squares(points, centres)
        nearest = squares.argmin(axis=1)
        cost = float(weights @ squares[np.arange(len(points)), nearest])
        sums = np.bincount(nearest, weights, len(centres)).astype(np.float64)
        if cost >= before:
            break
        best, before = Clustering(centres, sums, cost), cost
        moved = np.stack(
            [np.bincount(nearest, weights * column, len(centres)) for column in points.T], axis=1
        )
        centres = np.where(sums[:, None] > 0, moved / np.maximum(sums, 1)[:, None], centres)
    return best


def _start(points: Floats, weights: Floats, k: int, rng: np.random.Generator) -> Floats:
    """k-means++: each next centre in proportion to its weighted squared distance."""
    chosen: list[int] = []
    masses = weights.copy()
    squares = np.full(len(points), np.inf)
    while len(chosen) < k and masses.sum() > 0:
        chosen.append(int(rng.choice(len(points), p=masses / masses.sum())))
        squares = np.minimum(squares, _squares(points, points[chosen[-1:]])[:, 0])
        masses = weights * squares
    return points[chosen]


def _squares(points: Floats, centres: Floats) -> Floats:
    """Squared distances, (points, centres); by differences, which lose no digits."""
    return ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)  # type: ignore[no-any-return]
