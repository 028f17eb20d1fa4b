"""Moments: count, sum, mean, variance, skewness, smallest and largest value, exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.counts import add_counts
from synopses.errors import StateError
from synopses.items import Items
from synopses.kernels import moments as kernel
from synopses.questions import Estimate, question

_MOST_ITEMS = 2**35  # digits of 28 bits are summed up in 63


class Moments(BankedSynopsis):
    """Count, sum, mean, variance, skewness, smallest and largest of the values.

    Every answer is the exact one, rounded to a float, or none if no float is that large. Sums of
    values, squares and cubes are kept without rounding, as long fixed-point numbers that cover
    all floats (a superaccumulator [1]_). So the state does not depend on order or grouping, and
    merging loses nothing. The digits are 28 bits in 64, carried only when asked: room for 2^35
    items. Beyond that count, smallest and largest value are answered, and the rest is not: the
    details say `saturated`.

    Examples
    --------
    >>> from synopses import Items, Moments
    >>> moments = Moments()
    >>> moments.add(Items.of(values=[1e16, 1, -1e16, 2]))
    >>> moments.sum().value, moments.mean().value
    (3.0, 0.75)

    References
    ----------
    .. [1] Kulisch, Computer arithmetic and validity: theory, implementation, and applications,
       de Gruyter 2013.
    """

    kind = "moments"
    order_free = True
    reads = frozenset({"values"})
    guarantee = "every answer is the exact one, rounded to a float; up to 2^35 items"

    def layout(self) -> Layout:
        return {
            "count": (np.int64, ()),
            "sums": (np.int64, (kernel.DIGITS,)),
            "squares": (np.int64, (2 * kernel.DIGITS,)),
            "cubes": (np.int64, (3 * kernel.DIGITS,)),
            "extremes": (np.uint64, (2,)),
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        kernel.add(
            arrays["count"],
            arrays["sums"],
            arrays["squares"],
            arrays["cubes"],
            arrays["extremes"],
            slots,
            items.values,
            items.values.view(np.uint64),
        )

    def _merge(self, other: Self) -> None:
        add_counts(self.arrays["count"], other.arrays["count"])
        for name in ("sums", "squares", "cubes"):
            self.arrays[name] += other.arrays[name]
        mine = self.arrays["extremes"]
        np.maximum(mine, other.arrays["extremes"], out=mine)

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        count, extremes = int(self.arrays["count"][0]), self.arrays["extremes"][0]
        has_extremes = bool(extremes.all())
        if has_extremes != bool(extremes.any()) or (count and not has_extremes):
            raise StateError(f"{self.kind}: count and extremes cannot belong together")
        if has_extremes and not all(map(math.isfinite, self._extremes())):
            raise StateError(f"{self.kind}: an extreme that is not finite")

    # -- questions ----------------------------------------------------------------------------

    @question
    def summary(self) -> Estimate:
        """All of the following at once."""
        names = ("count", "sum", "mean", "variance", "skewness", "min", "max")
        return _exactly({name: getattr(self, name)().value for name in names}, self._saturated())

    @question
    def count(self) -> Estimate:
        """Number of values."""
        count = int(self.arrays["count"][0])
        return _exactly(count) if count >= 0 else Estimate(None, details=self._saturated())

    @question
    def sum(self) -> Estimate:
        """Sum of the values."""
        if self._saturated():
            return Estimate(None, details=self._saturated())
        return _exactly(_rounded(self._power_sum(1)))

    @question
    def mean(self) -> Estimate:
        """Arithmetic mean."""
        n = self.count().value
        if self._saturated():
            return Estimate(None, details=self._saturated())
        return _exactly(_rounded(self._power_sum(1) / n) if n else None)

    @question
    def variance(self) -> Estimate:
        """Mean squared distance from the mean; the details have the sample variance, too."""
        n = self.count().value
        if self._saturated():
            return Estimate(None, details=self._saturated())
        if not n:
            return _exactly(None)
        second = self._second()
        sample = _rounded(second * n / (n - 1)) if n > 1 else None
        return _exactly(_rounded(second), {"sample": sample})

    @question
    def skewness(self) -> Estimate:
        """Third central moment over the variance to the power 1.5; none if that is 0."""
        n = self.count().value
        if self._saturated():
            return Estimate(None, details=self._saturated())
        second = self._second() if n else Fraction(0)
        if second <= 0:
            return _exactly(None)
        mean = self._power_sum(1) / n
        third = self._power_sum(3) / n - 3 * mean * second - mean**3
        # The root of a fraction that was squared first: nothing is lost before it.
        square = _rounded(third**2 / second**3)
        if square is None:
            return _exactly(None)
        return _exactly(math.sqrt(square) if third > 0 else -math.sqrt(square))

    @question
    def min(self) -> Estimate:
        """Smallest value."""
        return _exactly(self._extremes()[0] if self.arrays["count"][0] else None)

    @question
    def max(self) -> Estimate:
        """Largest value."""
        return _exactly(self._extremes()[1] if self.arrays["count"][0] else None)

    def _saturated(self) -> dict[str, Any]:
        """What answers that need the sums say once digits, or the count itself, may have run
        over: no stream does that, but imported states may say so."""
        fits = 0 <= self.arrays["count"][0] < _MOST_ITEMS
        return {} if fits else {"saturated": True}

    def _second(self) -> Fraction:
        n = int(self.arrays["count"][0])
        return self._power_sum(2) / n - (self._power_sum(1) / n) ** 2

    def _power_sum(self, power: int) -> Fraction:
        digits = self.arrays[("sums", "squares", "cubes")[power - 1]][0].tolist()
        whole = 0
        for digit in reversed(digits):
            whole = (whole << kernel.DIGIT_BITS) + digit
        return Fraction(whole, 2 ** (kernel.SMALLEST_EXPONENT * power))

    def _extremes(self) -> list[float]:
        """Smallest and largest value; meaningless in an empty synopsis."""
        words = self.arrays["extremes"][0] ^ np.array([2**64 - 1, 0], np.uint64)
        top = np.uint64(1) << np.uint64(63)
        negative = words < top
        values = np.where(negative, ~words, words ^ top).view(np.float64)
        return [float(value) for value in values]


def _exactly(value: Any, details: dict[str, Any] | None = None) -> Estimate:
    number = None if isinstance(value, dict) else value
    return Estimate(value, number, number, 1.0, details or {})


def _rounded(exact: Fraction) -> float | None:
    """The nearest float; none if there is none."""
    try:
        return float(exact)
    except OverflowError:
        return None
