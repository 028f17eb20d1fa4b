"""Fast-AGMS sketch: how large is a join, how skewed a stream?"""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from synopses import fixed_point
from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.errors import ParameterError
from synopses.fixed_point import LOSSES, Losses
from synopses.hashing import hash_key
from synopses.items import Items
from synopses.kernels import ams as kernel
from synopses.median import failure, rows_needed
from synopses.parameters import parameter
from synopses.questions import Estimate, question

# width * epsilon^2: by Chebyshev a row then fails with at most 2 / 35, and for delta = 0.01 three
# rows are enough. Narrower and more rows take as much memory and more time.
_WIDTH = 35.0
_ROW_FAILURE = 2 / _WIDTH


class AMS(BankedSynopsis):
    """Second moment, join size and frequencies in a stream of weighted keys.

    With a and b the vectors of weights by key and probability at least `1 - delta` each: the
    second moment is off by at most `epsilon * |a|^2`, a join size by `epsilon * |a| |b|`, and the
    weight of a key by `epsilon * |a|` (Euclidean norms); weights may be negative [1]_ [2]_.
    Weights are counted in whole units of 10^-decimals, so that sums do not depend on order. The
    bounds of an answer are wider by what rounding lost, which the details state as `rounding`.
    Once absolute weights sum to 2^62 units there is no answer: the details say `saturated`.

    Examples
    --------
    >>> from synopses import AMS, Items
    >>> sketch = AMS(epsilon=0.1)
    >>> sketch.add(Items.of(["a", "a", "a", "b"]))
    >>> sketch.f2().value, sketch.frequency("a").value
    (10.0, 3.0)

    References
    ----------
    .. [1] Alon, Matias and Szegedy, The space complexity of approximating the frequency moments,
       STOC 1996.
    .. [2] Cormode and Garofalakis, Sketching streams through the net: distributed approximate
       query tracking, VLDB 2005.
    """

    kind = "ams"
    linear = True
    order_free = True
    sums_weights = True
    reads = frozenset({"keys", "values"})
    guarantee = (
        "errors of f2, join size and frequency <= epsilon * |a|^2, |a||b| and |a|, "
        "each with probability 1 - delta; weights with more than `decimals` widen the bounds"
    )
    later_arrays: ClassVar[tuple[str, ...]] = (LOSSES,)

    epsilon: float = parameter(
        0.1, least=1e-4, below=1, doc="error as a share of the (product of) Euclidean norms"
    )
    delta: float = parameter(0.01, least=1e-9, below=1, doc="chance that a bound fails")
    decimals: int = parameter(3, least=0, most=9, doc="decimals of a weight that are counted")
    seed: int = parameter(9001, least=0, most=2**32, doc="only equal seeds merge")

    @classmethod
    def from_shape(cls, depth: int, width: int) -> Self:
        """A sketch of at least this many rows and columns; the rows become an odd number.

        >>> sketch = AMS.from_shape(4, 1000)
        >>> sketch.depth, sketch.width
        (5, 1000)
        """
        for name, value in (("depth", depth), ("width", width)):
            if value < 1:
                raise ParameterError(name, value, "a whole number at least 1")
        delta = failure(depth | 1, _ROW_FAILURE)
        return cls(epsilon=math.sqrt(_WIDTH / max(width, 36)), delta=max(delta, 1e-9))

    @property
    def depth(self) -> int:
        return rows_needed(self.delta, _ROW_FAILURE)

    @property
    def width(self) -> int:
        # The margin keeps from_shape's width from being rounded up once more.
        return math.ceil(_WIDTH / self.epsilon**2 * (1 - 1e-12))

    def layout(self) -> Layout:
        return {"table": (np.int64, (self.depth, self.width)), **fixed_point.LAYOUT}

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        weights, _ = fixed_point.weights_of(items, self.decimals, arrays[LOSSES], slots)
        kernel.add(arrays["table"], slots, items.keys, weights, np.uint64(self.seed))

    def _merge(self, other: Self) -> None:
        self.arrays["table"] += other.arrays["table"]
        fixed_point.merge_losses(self.arrays[LOSSES], other.arrays[LOSSES])

    def subtract_slots(self, arrays: Arrays, slots: NDArray[np.int32], others: Arrays) -> None:
        losses = fixed_point.subtract_losses(arrays[LOSSES][slots], others[LOSSES])
        super().subtract_slots(arrays, slots, others)
        arrays[LOSSES][slots] = losses

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        fixed_point.check_losses(self.kind, self.arrays[LOSSES])

    @question
    def f2(self) -> Estimate:
        """Second moment: the sum over all keys of the squared weight (size of the self-join)."""
        losses = self._losses()
        if losses.saturated:
            return Estimate(None, details=losses.details)
        value, (least, most) = self._product(self), self._norm()
        # What rounding lost has a norm, too: that of the weights differs by at most so much.
        lower = max(0.0, math.sqrt(least) - losses.rounding) ** 2 if losses.rounding else least
        upper = (math.sqrt(most) + losses.rounding) ** 2 if losses.rounding else most
        return Estimate(value, lower, upper, 1 - self.delta, losses.details)

    @question
    def frequency(self, key: str) -> Estimate:
        """Total weight of one key."""
        losses = self._losses()
        if losses.saturated:
            return Estimate(None, details=losses.details)
        cells = np.empty(self.depth, np.int64)
        kernel.cells(self.arrays["table"], 0, hash_key(key)[0], np.uint64(self.seed), cells)
        value = float(np.median(cells)) / 10.0**self.decimals
        error = self.epsilon * math.sqrt(self._norm()[1]) + losses.rounding
        sure = max(0.0, 1 - 2 * self.delta)
        return Estimate(value, value - error, value + error, sure, losses.details)

    @question
    def join_size(self, other: Self) -> Estimate:
        """Sum over all keys of weight here times weight in the other synopsis."""
        one, two = self._losses(), other._losses()
        if one.saturated or two.saturated:
            return Estimate(None, details={"saturated": True})
        here, there = math.sqrt(self._norm()[1]), math.sqrt(other._norm()[1])
        rounding = one.rounding * there + two.rounding * here + one.rounding * two.rounding
        error = self.epsilon * here * there + rounding
        sure = max(0.0, 1 - 3 * self.delta)
        details = {"rounding": rounding} if rounding else {}
        value = self._product(other)
        return Estimate(value, value - error, value + error, sure, details)

    def _losses(self) -> Losses:
        return fixed_point.losses_of(self.arrays[LOSSES][0], self.decimals)

    def _norm(self) -> tuple[float, float]:
        """Bounds of the squared norm of the rounded weights, with probability 1 - delta."""
        value = self._product(self)
        return value / (1 + self.epsilon), value / (1 - self.epsilon)

    def _product(self, other: Self) -> float:
        unit = 10.0**-self.decimals
        mine, theirs = self.arrays["table"][0] * unit, other.arrays["table"][0] * unit
        return float(np.median((mine * theirs).sum(axis=1)))

    @classmethod
    def example(cls) -> Self:
        return cls(epsilon=0.5, delta=0.1)
