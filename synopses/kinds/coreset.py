"""Coreset: a few weighted points that stand for all, and k centres of them."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.clustering import Clustering, cluster
from synopses.errors import MergeError, ParameterError, QueryError, StateError
from synopses.items import Items
from synopses.kernels import coreset as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate, question

_LEVELS = 20  # size * 2^20 points before the top level is reduced again and again
_MOST_POINTS = 2**53
_MOST_SIZE = 2000
_MOST_WORK = 10**7  # differences of numbers in one step of k-means: some hundred steps are made


class Coreset(BankedSynopsis):
    """Weighted points that cost, for any k centres, nearly what all points would cost.

    For any centres, the square roots of the cost (sum of squared distances to the nearest
    centre) of all points and of the coreset differ by at most the distance the points were
    moved, which the synopsis knows: costs come with bounds that always hold. Points are reduced by
    k-means++ sampling in the merge-and-reduce manner of StreamKM++ [1]_, without its coreset
    tree, which approximates that sampling. Weights sum to the number of points exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from synopses import Coreset, Items
    >>> points = np.repeat([[0.0, 0.0], [10.0, 10.0]], 500, axis=0)
    >>> coreset = Coreset(dimensions=2, size=50)
    >>> coreset.add(Items.of(values=points))
    >>> sorted(found["point"] for found in coreset.centres(2).value)
    [[0.0, 0.0], [10.0, 10.0]]

    References
    ----------
    .. [1] Ackermann et al., StreamKM++: a clustering algorithm for data streams, ACM J. of
       Experimental Algorithmics 17, 2012.
    """

    kind = "coreset"
    reads = frozenset({"values"})
    value_fields: ClassVar[int | str] = "dimensions"
    guarantee = "lower <= cost of any centres over all points <= upper, always"

    dimensions: int = parameter(2, least=1, most=64, doc="values of a point")
    size: int = parameter(
        200, least=2, most=_MOST_SIZE, unit="points", doc="points of a bucket; 20 times k is good"
    )

    def layout(self) -> Layout:
        levels = _LEVELS + 1
        return {
            "points": (np.float64, (levels, self.size, self.dimensions)),
            "weights": (np.float64, (levels, self.size)),
            "counts": (np.int64, (levels,)),
            "moved": (np.float64, (levels,)),
            "coins": (np.uint64, ()),
            "n": (np.int64, ()),
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        plain = self.dimensions == 1 and items.values.ndim == 1
        values = items.values[:, None] if plain else items.values
        if len(items) and (values.ndim != 2 or values.shape[1] != self.dimensions):
            found = values.shape[1] if values.ndim == 2 else 1
            raise ParameterError("value", f"{found} fields", f"{self.dimensions} fields")
        kernel.add(
            arrays["points"],
            arrays["weights"],
            arrays["counts"],
            arrays["moved"],
            arrays["coins"],
            arrays["n"],
            slots,
            values + 0.0,  # -0.0 and 0.0 are one value
        )

    def _merge(self, other: Self) -> None:
        mine, theirs = self.arrays, other.arrays
        n = int(mine["n"][0]) + int(theirs["n"][0])
        if n > _MOST_POINTS:
            raise MergeError(f"{n} points: one synopsis holds at most {_MOST_POINTS}")
        collected = theirs["points"][0, 0, : int(theirs["counts"][0, 0])]
        mine["coins"] += theirs["coins"]
        kernel.merge(
            mine["points"],
            mine["weights"],
            mine["counts"],
            mine["moved"],
            mine["coins"],
            theirs["points"][0],
            theirs["weights"][0],
            theirs["counts"][0],
            theirs["moved"][0],
        )
        mine["n"] += theirs["n"] - len(collected)
        self._add(Items.of(values=collected))

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        state = {name: array[0] for name, array in self.arrays.items()}
        counts, weights, points = state["counts"], state["weights"], state["points"]
        if not ((counts >= 0) & (counts <= self.size)).all() or counts[0] == self.size:
            raise StateError(f"coreset: buckets of {counts.tolist()} points")
        taken = np.arange(self.size) < counts[:, None]
        sound = np.isfinite(points).all() and not points[~taken].any()
        if not sound or (weights[~taken] != 0).any():
            raise StateError("coreset: a point is not finite, or stands behind the last")
        whole = (weights[taken] >= 1) & (np.rint(weights[taken]) == weights[taken])
        n = int(state["n"])
        if not whole.all() or weights.sum() != n or n > _MOST_POINTS or (weights[0] > 1).any():
            raise StateError(f"coreset: weights that do not sum to {n} points")
        if not (state["moved"] >= 0).all() or state["moved"][counts == 0].any():
            raise StateError("coreset: a distance is below 0")

    @classmethod
    def example(cls) -> Self:
        return cls(dimensions=2, size=30)

    @classmethod
    def example_items(cls, rng: np.random.Generator, n: int) -> Items:
        return Items.of(values=rng.normal(size=(n, 2)) + rng.integers(0, 4, (n, 1)) * 5)

    # -- questions ----------------------------------------------------------------------------

    def _points(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        taken = np.arange(self.size) < self.arrays["counts"][0][:, None]
        return self.arrays["points"][0][taken], self.arrays["weights"][0][taken]

    def _cluster(self, k: int) -> Clustering:
        if not 1 <= k <= self.size:
            raise QueryError("query.k", k, f"a number from 1 to size={self.size}")
        points, weights = self._points()
        most = max(1, _MOST_WORK // max(1, points.size))
        if k > most:
            raise QueryError("query.k", k, f"at most {most} with {points.size} numbers to cluster")
        return cluster(points, weights, k)

    def bounds(self, cost: float) -> tuple[float | None, float | None]:
        """What centres that cost this much on the coreset cost on all points."""
        moved = math.hypot(*self.arrays["moved"][0]) * (1 + 1e-9)  # roundings of the sums
        lower, upper = max(0.0, math.sqrt(cost) - moved) ** 2, (math.sqrt(cost) + moved) ** 2
        if not math.isfinite(upper):
            return None, None
        return lower * (1 - 1e-9), upper * (1 + 1e-9)

    @question(most={"k": _MOST_SIZE})
    def centres(self, k: int) -> Estimate:
        """k centres of all points, each with the weight nearest to it, and what they cost."""
        found = self._cluster(k)
        lower, upper = self.bounds(found.cost)
        details = {"cost": found.cost, "cost_lower": lower, "cost_upper": upper}
        return Estimate(_described(found.centres, found.weights), details=details)

    @question(most={"k": _MOST_SIZE})
    def cost(self, k: int) -> Estimate:
        """Sum of squared distances of all points to the nearest of the k centres."""
        found = self._cluster(k)
        return Estimate(found.cost, *self.bounds(found.cost), 1.0)

    @question
    def points(self) -> Estimate:
        """The points of the coreset and their weights."""
        return Estimate(_described(*self._points()))


def _described(points: NDArray[np.float64], weights: NDArray[np.float64]) -> list[dict[str, Any]]:
    return [
        {"point": point.tolist(), "weight": float(weight)}
        for point, weight in zip(points, weights, strict=True)
    ]
