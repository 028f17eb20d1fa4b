"""Flajolet-Martin bitmaps with stochastic averaging (PCSA): how many distinct keys?"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.errors import ParameterError
from synopses.items import Items
from synopses.kernels import fm as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate, question

_SIGMAS, _CONFIDENCE = 3.0, 0.99
# Of a word's bits: the chance of being the lowest one that is set.
_CHANCES = np.ldexp(1.0, -np.minimum(np.arange(1, 65), 63))


class FM(BankedSynopsis):
    """Number of distinct keys in a stream, by the oldest of the distinct counters.

    The relative standard error is at most `0.78 / sqrt(bitmaps)` [1]_; the interval is three of
    these wide on each side, up to the next whole number (of a handful of keys two may set the same
    bit), and holds the true number with probability 0.99. The paper looks at
    the lowest zero of each bitmap, which needs corrections for small numbers [2]_; we take the
    number that makes the whole bitmaps likeliest, as [3]_ does for another sketch: it has no bias
    from the first key on and less variance.

    Examples
    --------
    >>> from synopses import FM, Items
    >>> sketch = FM(bitmaps=256)
    >>> sketch.add(Items.of(range(100_000)))
    >>> answer = sketch.cardinality()
    >>> answer.lower < 100_000 < answer.upper
    True

    References
    ----------
    .. [1] Flajolet and Martin, Probabilistic counting algorithms for data base applications,
       J. Comput. Syst. Sci. 31(2), 1985.
    .. [2] Scheuermann and Mauve, Near-optimal compression of probabilistic counting sketches for
       networking applications, DIALM-POMC 2007.
    .. [3] Ertl, New cardinality estimation algorithms for HyperLogLog sketches, 2017,
       arXiv:1702.01284.
    """

    kind = "fm"
    order_free = True
    idempotent = True
    guarantee = "relative standard error 0.78 / sqrt(bitmaps); bounds hold with probability 0.99"

    bitmaps: int = parameter(256, least=16, most=2**22, doc="number of bitmaps of 64 bits")

    @classmethod
    def from_error(cls, relative_error: float) -> Self:
        """The smallest sketch with at most this relative standard error.

        >>> FM.from_error(0.05).bitmaps
        244
        """
        if not 0 < relative_error < 1:
            raise ParameterError("relative_error", relative_error, "a number above 0 and below 1")
        return cls(bitmaps=max(16, math.ceil((0.78 / relative_error) ** 2)))

    @property
    def relative_error(self) -> float:
        return 0.78 / math.sqrt(self.bitmaps)

    def layout(self) -> Layout:
        return {"words": (np.uint64, (self.bitmaps,))}

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        kernel.add(arrays["words"], slots, items.keys)

    def _merge(self, other: Self) -> None:
        self.arrays["words"] |= other.arrays["words"]

    @question
    def cardinality(self) -> Estimate:
        """Number of distinct keys."""
        return self._count(self.arrays["words"][0])

    @question
    def union(self, *others: Self) -> Estimate:
        """Number of distinct keys in this synopsis and the others together."""
        return self._count(np.bitwise_or.reduce([s.arrays["words"][0] for s in (self, *others)]))

    def _count(self, words: NDArray[np.uint64]) -> Estimate:
        bits = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        ones = bits.sum(axis=0, dtype=np.int64)
        value = _likeliest(ones, len(words))
        error = _SIGMAS * self.relative_error
        # Each bit set has met a key of its own.
        lower = min(value, max(value / (1 + error), float(ones.sum())))
        return Estimate(value, lower, float(math.ceil(value / (1 - error))), _CONFIDENCE)

    @classmethod
    def example(cls) -> Self:
        return cls(bitmaps=64)


def _likeliest(ones: NDArray[np.int64], bitmaps: int) -> float:
    """The number of keys that most likely sets bit i in `ones[i]` of the bitmaps.

    With x keys per bitmap, bit i is zero with probability exp(-x * chance). The likelihood's
    derivative by x falls steadily; its zero is found by halving the interval.
    """
    if not ones.any():
        return 0.0
    zeros = float((_CHANCES * (bitmaps - ones)).sum())
    few, many = 0.0, 2.0**64
    while True:
        x = (few + many) / 2
        if x in (few, many):
            return x * bitmaps
        with np.errstate(over="ignore"):
            rising = float((_CHANCES * ones / np.expm1(x * _CHANCES)).sum()) > zeros
        few, many = (x, many) if rising else (few, x)
