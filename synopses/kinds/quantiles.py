"""KLL sketch: quantiles and ranks of a stream of numbers."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.errors import MergeError, QueryError, StateError
from synopses.items import Items
from synopses.kernels import quantiles as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate, question

_LEVELS = 61  # enough for 2^60 values
_MOST_VALUES = 2**60
_LEAST_CAPACITY = 8  # of a level, as in DataSketches
_CONFIDENCE = 0.99
_MOST_POINTS = _MOST_BUCKETS = 10_000  # of one question


class Quantiles(BankedSynopsis):
    """Quantiles, ranks and histogram of the values.

    With probability 0.99 for each question, the share of values up to the answer differs from
    the share asked for by at most `2.296 / k**0.9723`; for both ends of a histogram bucket
    together by `2.446 / k**0.9433`. Smallest, largest and number of values are exact, and so is
    everything while no value had to be dropped. This is the KLL sketch [1]_ with the level sizes
    and error constants of Apache DataSketches; unlike there, the coins come from the state, so
    the same input in the same order gives the same bytes. The share of a value is that of the
    values less than or equal to it.

    Examples
    --------
    >>> import numpy as np
    >>> from synopses import Items, Quantiles
    >>> sketch = Quantiles(k=200)
    >>> sketch.add(Items.of(values=np.arange(1, 101)))
    >>> sketch.quantile(0.5).value, sketch.rank(90).value
    (50.0, 0.9)

    References
    ----------
    .. [1] Karnin, Lang and Liberty, Optimal quantile approximation in streams, FOCS 2016.
    """

    kind = "quantiles"
    reads = frozenset({"values"})
    guarantee = "|true rank - rank asked for| <= 2.296 / k^0.9723, with probability 0.99"

    k: int = parameter(200, least=8, most=65_535, doc="size of the top level: precision")

    @classmethod
    def from_error(cls, rank_error: float) -> Self:
        """The smallest synopsis whose rank error is at most `rank_error` (0.01: one per cent)."""
        return cls(k=max(8, math.ceil((2.296 / rank_error) ** (1 / 0.9723))))

    @property
    def rank_error(self) -> float:
        """Largest error of one rank, with probability 0.99."""
        return float(2.296 / self.k**0.9723)

    def _prepare(self) -> None:
        super()._prepare()
        shares = self.k * (2 / 3) ** np.arange(_LEVELS)
        self._caps = np.maximum(_LEAST_CAPACITY, np.rint(shares)).astype(np.int64)
        self._rooms = np.concatenate([[0], np.cumsum(self._caps)])

    def layout(self) -> Layout:
        return {
            "items": (np.float64, (int(self._rooms[-1]),)),
            "sizes": (np.int64, (_LEVELS,)),
            "levels": (np.int64, ()),
            "held": (np.int64, ()),
            "coins": (np.uint64, ()),
            "n": (np.int64, ()),
            "least": (np.float64, ()),
            "most": (np.float64, ()),
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        kernel.add(
            arrays["items"],
            arrays["items"].view(np.uint64),
            arrays["sizes"],
            arrays["levels"],
            arrays["held"],
            arrays["coins"],
            arrays["n"],
            arrays["least"],
            arrays["most"],
            slots,
            items.values,
            self._caps,
            self._rooms,
        )

    def _merge(self, other: Self) -> None:
        mine, theirs = self.arrays, other.arrays
        if not theirs["n"][0]:
            return
        n = int(mine["n"][0]) + int(theirs["n"][0])
        if n > _MOST_VALUES:
            raise MergeError(f"{n} values: one synopsis holds at most {_MOST_VALUES}")
        joined = np.zeros((1, 2 * int(self._rooms[-1])))
        kernel.join(
            mine["items"][0],
            mine["sizes"][0],
            theirs["items"][0],
            theirs["sizes"][0],
            joined[0],
            mine["sizes"][0],
        )
        if mine["n"][0]:
            mine["least"][0] = min(mine["least"][0], theirs["least"][0])
            mine["most"][0] = max(mine["most"][0], theirs["most"][0])
        else:
            mine["least"][0], mine["most"][0] = theirs["least"][0], theirs["most"][0]
        mine["n"][0] = n
        mine["levels"][0] = max(mine["levels"][0], theirs["levels"][0])
        for name in ("held", "coins"):
            mine[name] += theirs[name]
        kernel.shrink(
            joined,
            joined.view(np.uint64),
            mine["sizes"],
            mine["levels"],
            mine["held"],
            mine["coins"],
            self._caps,
            self._rooms,
        )
        mine["items"][0] = joined[0, : mine["items"].shape[1]]

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        state = {name: array[0] for name, array in self.arrays.items()}
        sizes, levels, held = state["sizes"], int(state["levels"]), int(state["held"])
        if not (0 <= levels <= _LEVELS and (sizes >= 0).all() and (sizes < 2**32).all()):
            raise StateError(f"quantiles: {levels} levels of sizes {sizes.tolist()}")
        if sizes[levels:].any() or held != sizes.sum() or held > self._rooms[levels]:
            raise StateError(f"quantiles: {held} items do not fit {levels} levels")
        n = sum(int(size) << h for h, size in enumerate(sizes))
        if state["n"] != n or n > _MOST_VALUES or (levels == 0) != (n == 0):
            raise StateError(f"quantiles: items of weight {n}, expected {state['n']}")
        items = state["items"][:held]
        inside = (items >= state["least"]) & (items <= state["most"])  # false for NaN
        if not (inside.all() and np.isfinite([state["least"], state["most"]]).all()):
            raise StateError("quantiles: items outside the smallest and largest value")
        starts = held - np.cumsum(sizes)  # of each level
        rising = np.ones(held + 1, np.bool_)
        rising[1:held] = items[1:] >= items[:-1]
        rising[starts] = True
        if not rising[: held - int(sizes[0])].all() or state["items"][held:].any():
            raise StateError("quantiles: a level is not sorted")

    @classmethod
    def example_items(cls, rng: np.random.Generator, n: int) -> Items:
        return Items.of(values=rng.normal(size=n))

    @classmethod
    def example_query(cls, question: str) -> dict[str, Any]:
        points = {"points": [-1, 0, 1]} if question == "cdf" else {}
        return super().example_query(question) | points

    # -- questions ----------------------------------------------------------------------------

    def _sorted(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The kept items in order, and the share of all values up to each."""
        sizes, held = self.arrays["sizes"][0], int(self.arrays["held"][0])
        items = self.arrays["items"][0, :held]
        weights = np.repeat(1 << np.arange(_LEVELS)[::-1], sizes[::-1])
        order = np.argsort(items, kind="stable")
        return items[order], np.cumsum(weights[order]) / max(1, int(self.arrays["n"][0]))

    def _error(self, of_both_ends: bool = False) -> tuple[float, float]:
        """Rank error and its confidence: exact while all values are still held."""
        if self.arrays["levels"][0] <= 1:
            return 0.0, 1.0
        return (2.446 / self.k**0.9433 if of_both_ends else self.rank_error), _CONFIDENCE

    @question
    def quantile(self, q: float) -> Estimate:
        """The smallest value with at least the share q of all values up to it (inverted_cdf)."""
        if not 0 <= q <= 1:
            raise QueryError("query.q", q, "a number at least 0 and at most 1")
        items, shares = self._sorted()
        if not items.size:
            return Estimate(None, details={"n": 0})
        least, most = float(self.arrays["least"][0]), float(self.arrays["most"][0])

        def at(share: float) -> float:
            if share <= 0 or share >= 1:
                return least if share <= 0 else most
            # Shares are quotients: one rounding must not push an exact hit to the next item.
            place = int(np.searchsorted(shares, share * (1 - 1e-15)))
            return float(items[min(place, items.size - 1)])

        error, confidence = self._error()
        lower = at(q - error) if error else at(q)
        upper = at(q + error) if error else at(q)
        details = {"n": int(self.arrays["n"][0]), "min": least, "max": most, "rank_error": error}
        return Estimate(at(q), lower, upper, confidence, details)

    @question
    def rank(self, value: float) -> Estimate:
        """The share of values less than or equal to `value`."""
        share = float(self._ranks(np.array([value]))[0])
        error, confidence = self._error()
        return Estimate(share, max(0.0, share - error), min(1.0, share + error), confidence)

    def _ranks(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The share of values up to each of these."""
        items, shares = self._sorted()
        if not items.size:
            return np.zeros(len(values))
        ranks = np.concatenate([[0.0], shares])[np.searchsorted(items, values, side="right")]
        ranks[values < self.arrays["least"][0]] = 0.0
        ranks[values >= self.arrays["most"][0]] = 1.0
        return np.asarray(ranks)

    @question(most={"points": _MOST_POINTS})
    def cdf(self, points: list[float]) -> Estimate:
        """The share of values up to each of several points."""
        if not all(type(point) in (int, float) and math.isfinite(point) for point in points):
            raise QueryError("query.points", points, "a list of numbers, such as [1, 2.5, 10]")
        wanted = np.array(points, np.float64)
        ranks, (error, confidence) = self._ranks(wanted), self._error()
        lower, upper = np.maximum(0, ranks - error), np.minimum(1, ranks + error)
        return Estimate(ranks.tolist(), lower.tolist(), upper.tolist(), confidence)

    @question(most={"buckets": _MOST_BUCKETS})
    def histogram(self, buckets: int = 20) -> Estimate:
        """The share of values in each of some buckets of equal width, from smallest to largest."""
        if not 1 <= buckets <= _MOST_BUCKETS:
            raise QueryError("query.buckets", buckets, f"from 1 to {_MOST_BUCKETS}")
        if not self.arrays["n"][0]:
            return Estimate([])
        edges = np.linspace(self.arrays["least"][0], self.arrays["most"][0], buckets + 1)
        ranks = np.concatenate([[0.0], self._ranks(edges[1:-1]), [1.0]])
        error, confidence = self._error(of_both_ends=True)
        shares = np.diff(ranks)
        value = [
            {"from": float(a), "to": float(b), "share": float(s)}
            for a, b, s in zip(edges[:-1], edges[1:], shares, strict=True)
        ]
        lower, upper = np.maximum(0, shares - error), np.minimum(1, shares + error)
        return Estimate(value, lower.tolist(), upper.tolist(), confidence)
