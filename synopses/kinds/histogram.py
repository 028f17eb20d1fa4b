"""Equi-width histogram: how are the values distributed between two limits?"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.counts import add_counts, are_too_many
from synopses.errors import ParameterError, QueryError
from synopses.items import Items
from synopses.kernels import histogram as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate, question


class Histogram(BankedSynopsis):
    """Counts of values in buckets of equal width, with those below and above counted apart.

    Counts are exact; a quantile or rank lies in its bucket with certainty: a quantile between
    `low` and `high` is off by at most one bucket's width. Buckets are those of `numpy.histogram`:
    each takes its left edge, the last one both [1]_.

    Examples
    --------
    >>> from synopses import Histogram, Items
    >>> ages = Histogram(low=0, high=100, buckets=10)
    >>> ages.add(Items.of(values=[3, 12, 18, 25, 99]))
    >>> ages.counts().value[:3], ages.quantile(0.5).lower, ages.quantile(0.5).upper
    ([1, 2, 1], 10.0, 20.0)

    References
    ----------
    .. [1] Pearson, Contributions to the mathematical theory of evolution II: skew variation in
       homogeneous material, Phil. Trans. R. Soc. A 186, 1895.
    """

    kind = "histogram"
    linear = True
    order_free = True
    reads = frozenset({"values"})
    guarantee = "counts are exact; a quantile between low and high lies in the bucket stated"

    low: float = parameter(0.0, doc="left edge of the first bucket")
    high: float = parameter(100.0, doc="right edge of the last bucket")
    buckets: int = parameter(100, least=1, most=10**6, doc="number of buckets between them")

    _edges: NDArray[np.float64]

    @classmethod
    def from_error(cls, low: float, high: float, width: float) -> Self:
        """The histogram whose quantiles between the limits are off by at most `width`.

        >>> Histogram.from_error(0, 10, 0.1).buckets
        100
        """
        if not width > 0:
            raise ParameterError("width", width, "a number above 0")
        return cls(low=low, high=high, buckets=max(1, int(np.ceil((high - low) / width - 1e-9))))

    def _prepare(self) -> None:
        super()._prepare()
        width = (self.high - self.low) / self.buckets
        if not 0 < width < np.inf:
            raise ParameterError("high", self.high, f"a number above low={self.low}, not too far")
        self._edges = np.linspace(self.low, self.high, self.buckets + 1)
        if (self._edges[1:] <= self._edges[:-1]).any():
            raise ParameterError("buckets", self.buckets, "fewer: the edges are not distinct")

    @property
    def _per_width(self) -> float:
        """Buckets by unit of value: multiplying is quicker than dividing."""
        return self.buckets / (self.high - self.low)

    def layout(self) -> Layout:
        return {"counts": (np.int64, (self.buckets + 2,))}

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        kernel.add_linear(arrays["counts"], slots, items.values, self._edges, self._per_width)

    def _merge(self, other: Self) -> None:
        add_counts(self.arrays["counts"], other.arrays["counts"])

    @question
    def counts(self) -> Estimate:
        """Number of values in each bucket; the details have the edges and the counts outside."""
        if are_too_many(self.arrays["counts"][0]):
            return TOO_MANY
        counts = self.arrays["counts"][0].tolist()
        details = {"edges": self._edges.tolist(), "below": counts[0], "above": counts[-1]}
        return Estimate(counts[1:-1], confidence=1.0, details=details)

    @question
    def quantile(self, q: float) -> Estimate:
        """The value that a share `q` do not exceed (inverted_cdf), spread evenly in its bucket."""
        if are_too_many(self.arrays["counts"][0]):
            return TOO_MANY
        found = find_quantile(self.arrays["counts"][0], q)
        if found is None:
            return Estimate(None, details={"why": "empty"})
        bucket, inside = found
        if bucket == 0:
            return Estimate(self.low, None, self.low, 1.0, {"why": "below low"})
        if bucket == self.buckets + 1:
            return Estimate(self.high, self.high, None, 1.0, {"why": "above high"})
        lower, upper = float(self._edges[bucket - 1]), float(self._edges[bucket])
        value = min(upper, lower + (upper - lower) * inside)
        return Estimate(value, lower, upper, 1.0)

    @question
    def rank(self, value: float) -> Estimate:
        """Share of the values that do not exceed `value`."""
        bucket = int(kernel.linear_bucket(value, self._edges, self._per_width))
        left, right = (
            (float(self._edges[bucket - 1]), float(self._edges[bucket]))
            if 1 <= bucket <= self.buckets
            else (value, value)
        )
        inside = (value - left) / (right - left) if right > left else 0.5
        return find_rank(self.arrays["counts"][0], bucket, inside)

    @classmethod
    def example(cls) -> Self:
        return cls(low=2.0, high=8.0, buckets=16)


TOO_MANY = Estimate(None, details={"saturated": True})


def find_quantile(counts: NDArray[np.int64], q: float) -> tuple[int, float] | None:
    """The bucket of a quantile and how far into its counts it lies; none if all are empty."""
    if not 0 <= q <= 1:
        raise QueryError("query.q", q, "a number at least 0 and at most 1")
    sums = np.cumsum(counts)
    total = int(sums[-1])
    if not total:
        return None
    # The smallest value whose rank is at least q: 1-based place ceil(q * total), at least 1.
    place = max(1, int(np.ceil(q * total)))
    bucket = int(np.searchsorted(sums, place))
    before = int(sums[bucket] - counts[bucket])
    return bucket, (place - before) / int(counts[bucket])


def find_rank(counts: NDArray[np.int64], bucket: int, inside: float) -> Estimate:
    """Share of counts up to a point of a bucket, between none and all of that bucket's."""
    if are_too_many(counts):
        return TOO_MANY
    total = int(counts.sum())
    if not total:
        return Estimate(None, details={"why": "empty"})
    before, within = int(counts[:bucket].sum()), int(counts[bucket])
    value = (before + within * inside) / total
    return Estimate(value, before / total, (before + within) / total, 1.0)
