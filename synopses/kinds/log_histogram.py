"""Histogram with buckets that grow by a factor: quantiles with a relative error."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.counts import add_counts, are_too_many
from synopses.errors import ParameterError
from synopses.items import Items
from synopses.kernels import histogram as kernel
from synopses.kinds.histogram import TOO_MANY, find_quantile, find_rank
from synopses.parameters import parameter
from synopses.questions import Estimate, question

_MOST_BUCKETS = 2**18
_MOST_CELLS = 2**16
_FRACTION_BITS = 52
_LARGEST_FLOAT = float(np.finfo(np.float64).max)


class _Search(NamedTuple):
    """What the kernel needs to find a bucket without a logarithm."""

    edges: NDArray[np.float64]  # with infinity at the end
    starts: NDArray[np.uint32]  # of each cell: how many edges are at or below its first value
    first_cell: np.uint64
    shift: np.uint64

    @classmethod
    def over(cls, edges: NDArray[np.float64], growth: float) -> _Search:
        """Cells are floats that share exponent and upper bits of the fraction.

        There are enough of them that a cell has at most one edge in it, if memory allows.
        """
        bits = max(0, math.ceil(-math.log2(growth - 1)))
        octaves = math.log2(edges[-1]) - math.log2(edges[0]) + 2
        bits = min(bits, _FRACTION_BITS, int(math.log2(_MOST_CELLS / octaves)))
        shift = np.uint64(_FRACTION_BITS - bits)
        ends = edges[[0, -1]].view(np.uint64) >> shift
        cells = np.arange(ends[0], ends[1] + np.uint64(2), dtype=np.uint64) << shift
        starts = np.searchsorted(edges, cells.view(np.float64), "right").astype(np.uint32)
        starts[0] = 0  # all that is smaller comes here too
        return cls(np.r_[edges, np.inf], starts, ends[0], shift)


class LogHistogram(BankedSynopsis):
    """Quantiles of values of any sign whose size matters, not their distance.

    A quantile whose true value has a magnitude between `smallest` and `largest` is off by at most
    `relative_error` times that value, always [1]_. Values closer to zero than `smallest` count as
    zero; those beyond `largest` are counted together, and their quantile has one bound only.
    Unlike the paper's, the buckets are fixed, so that states are arrays that add and subtract.

    Examples
    --------
    >>> from synopses import Items, LogHistogram
    >>> latency = LogHistogram(relative_error=0.01)
    >>> latency.add(Items.of(values=range(1, 1001)))
    >>> abs(latency.quantile(0.99).value - 990) <= 0.01 * 990
    True

    References
    ----------
    .. [1] Masson, Rim and Lee, DDSketch: a fast and fully-mergeable quantile sketch with
       relative-error guarantees, PVLDB 12(12), 2019.
    """

    kind = "log_histogram"
    linear = True
    order_free = True
    reads = frozenset({"values"})
    guarantee = (
        "a quantile of magnitude between smallest and largest is off by at most relative_error "
        "times itself"
    )

    relative_error: float = parameter(
        0.02, least=1e-5, most=0.5, doc="error of a quantile as a share of its value"
    )
    smallest: float = parameter(
        1e-9, least=1e-300, most=1e300, doc="values closer to zero count as zero"
    )
    largest: float = parameter(
        1e9, least=1e-300, most=1e300, doc="values farther from zero are counted together"
    )

    _edges: NDArray[np.float64]
    _search: _Search

    def _prepare(self) -> None:
        super()._prepare()
        if self.largest <= self.smallest:
            raise ParameterError(
                "largest", self.largest, f"a number above smallest={self.smallest}"
            )
        growth = (1 + self.relative_error) / (1 - self.relative_error)
        distance = math.log(self.largest) - math.log(self.smallest)
        steps = math.ceil(distance / math.log(growth))
        if steps > _MOST_BUCKETS:
            raise ParameterError(
                "relative_error", self.relative_error, f"at most {_MOST_BUCKETS} buckets a sign"
            )
        # Multiplying is the same on every machine to the last bit; powers and logarithms are not.
        edges = np.multiply.accumulate(np.r_[self.smallest, np.full(steps + 1, growth)])
        self._edges = edges[: int(np.searchsorted(edges, self.largest)) + 1]
        self._search = _Search.over(self._edges, growth)

    def layout(self) -> Layout:
        # From the most negative to the most positive bucket: beyond, sizes, zero, sizes, beyond.
        return {"counts": (np.int64, (2 * len(self._edges) + 1,))}

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        words = items.values.view(np.uint64)
        kernel.add_logarithmic(arrays["counts"], slots, items.values, words, *self._search)

    def _merge(self, other: Self) -> None:
        add_counts(self.arrays["counts"], other.arrays["counts"])

    @question
    def quantile(self, q: float) -> Estimate:
        """The smallest value that a share `q` of all values do not exceed (inverted_cdf)."""
        if are_too_many(self.arrays["counts"][0]):
            return TOO_MANY
        found = find_quantile(self.arrays["counts"][0], q)
        if found is None:
            return Estimate(None, details={"why": "empty"})
        size = found[0] - len(self._edges)  # 0: zero, 1 and -1: the smallest, and so on
        if size == 0:
            return Estimate(0.0, -self.smallest, self.smallest, 1.0)
        edge = float(self._edges[abs(size) - 1])
        if abs(size) == len(self._edges):
            details = {"why": "beyond largest"}
            if size > 0:
                return Estimate(edge, edge, None, 1.0, details)
            return Estimate(-edge, None, -edge, 1.0, details)
        upper = float(self._edges[abs(size)])
        # The point whose distance to either edge is the same share of that edge.
        middle = 2 * edge * (upper / (edge + upper))
        if size > 0:
            return Estimate(middle, edge, upper, 1.0)
        return Estimate(-middle, -upper, -edge, 1.0)

    @question
    def rank(self, value: float) -> Estimate:
        """Share of the values that do not exceed `value`."""
        size = np.clip(np.array([value]), -_LARGEST_FLOAT, _LARGEST_FLOAT)
        bucket = kernel.logarithmic_bucket(size[0], size.view(np.uint64)[0], *self._search)
        return find_rank(self.arrays["counts"][0], int(bucket), 0.5)

    @question
    def counts(self) -> Estimate:
        """The buckets that are not empty, as [lower, upper, count]; none where unbounded."""
        if are_too_many(self.arrays["counts"][0]):
            return TOO_MANY
        edges = self._edges.tolist()
        bounds = [None, *(-e for e in reversed(edges)), *edges, None]
        counts = self.arrays["counts"][0]
        filled = np.flatnonzero(counts)
        value = [[bounds[i], bounds[i + 1], int(counts[i])] for i in filled.tolist()]
        return Estimate(value, confidence=1.0)

    @classmethod
    def example(cls) -> Self:
        return cls(relative_error=0.1, smallest=0.1, largest=100.0)
