"""Theta sketch: how many distinct keys in unions, intersections and differences?"""

from __future__ import annotations

import math
from typing import Any, Self

import datasketches
import numpy as np
from numpy.typing import NDArray

from synopses import theta_exchange as exchange
from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.errors import ParameterError, StateError
from synopses.items import Items
from synopses.kernels import theta as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate, question

_SIGMAS, _CONFIDENCE = 3, 0.99
_JACCARD_CONFIDENCE = 0.95  # DataSketches gives two standard deviations, no choice


class Theta(BankedSynopsis):
    """Distinct keys of a stream, and of what streams share or do not share.

    The number of distinct keys is unbiased with a relative standard error of at most
    `1 / sqrt(2^lg_k - 1)`, exact up to `2^lg_k` keys; intervals hold with probability 0.99 [1]_.
    Intersections and differences have the same error relative to the union of what they compare.

    The state is the 2^lg_k smallest hashes of distinct keys. Hashes and bytes are those of Apache
    DataSketches, which also does the set arithmetic. Between two pruned states up to half as many
    hashes more are held, but never shown: `to_bytes` depends on the set of keys alone.

    Examples
    --------
    >>> from synopses import Items, Theta
    >>> one, two = Theta(), Theta()
    >>> one.add(Items.of(range(1000)))
    >>> two.add(Items.of(range(500, 2000)))
    >>> one.intersection(two).value, one.difference(two).value, one.jaccard(two).value
    (500.0, 500.0, 0.25)

    References
    ----------
    .. [1] Dasgupta, Lang, Rhodes and Thaler, A framework for estimating stream expression
       cardinalities, ICDT 2016.
    """

    kind = "theta"
    order_free = True
    idempotent = True
    guarantee = (
        "relative standard error 1 / sqrt(2^lg_k - 1) of the union; bounds hold with "
        "probability 0.99"
    )

    lg_k: int = parameter(12, least=5, most=23, doc="binary logarithm of the hashes kept")

    @classmethod
    def from_error(cls, relative_error: float) -> Self:
        """The smallest sketch with at most this relative standard error.

        >>> Theta.from_error(0.02).lg_k
        12
        """
        if not 0 < relative_error < 1:
            raise ParameterError("relative_error", relative_error, "a number above 0 and below 1")
        return cls(lg_k=max(5, math.ceil(math.log2(1 + relative_error**-2))))

    @property
    def relative_error(self) -> float:
        return float(1 / math.sqrt(2**self.lg_k - 1))

    def layout(self) -> Layout:
        return {
            "theta": (np.uint64, ()),
            "count": (np.int64, ()),
            "table": (np.uint64, (2 ** (self.lg_k + 1),)),
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        kernel.add(arrays["theta"], arrays["count"], arrays["table"], slots, items.keys)

    def _merge(self, other: Self) -> None:
        mine, theirs = self.arrays, other.arrays
        limit = theirs["theta"][0]
        kernel.merge(mine["theta"], mine["count"], mine["table"], limit, theirs["table"][0])

    def _retained(self) -> tuple[int, NDArray[np.uint64]]:
        """Theta (0: no limit yet) and the smallest 2^lg_k hashes, sorted."""
        table = self.arrays["table"][0]
        hashes = np.sort(table[table != 0])
        if len(hashes) <= 2**self.lg_k:
            return int(self.arrays["theta"][0]), hashes
        return int(hashes[2**self.lg_k]), hashes[: 2**self.lg_k]

    def _payload(self) -> bytes:
        theta, hashes = self._retained()
        padding = bytes(self.arrays["table"].nbytes - hashes.nbytes)
        return np.array([theta, len(hashes)], np.uint64).tobytes() + hashes.tobytes() + padding

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        theta, count = int(self.arrays["theta"][0]), int(self.arrays["count"][0])
        table = self.arrays["table"][0].copy()
        if not 0 <= count <= 2**self.lg_k or table[count:].any():
            raise StateError(f"{self.kind}: {count} hashes, expected 0 to {2**self.lg_k}")
        self._replace(theta, table[:count])

    def _replace(self, theta: int, hashes: NDArray[np.uint64]) -> None:
        """Hold these hashes, if they can be those of a sketch with this theta."""
        limit = theta or exchange.WHOLE
        bounded = theta <= exchange.WHOLE and (not len(hashes) or hashes[0] > 0)
        if not bounded or (len(hashes) and int(hashes[-1]) >= limit):
            raise StateError(f"{self.kind}: theta or a hash is out of range")
        if (hashes[1:] <= hashes[:-1]).any():
            raise StateError(f"{self.kind}: the hashes are not sorted")
        for array in self.arrays.values():
            array[...] = 0
        arrays = self.arrays
        kernel.merge(arrays["theta"], arrays["count"], arrays["table"], np.uint64(theta), hashes)

    # -- questions ----------------------------------------------------------------------------

    @question
    def cardinality(self) -> Estimate:
        """Number of distinct keys."""
        return _bounded(self._compact())

    @question
    def union(self, *others: Self) -> Estimate:
        """Number of distinct keys in this synopsis and the others together."""
        united = datasketches.theta_union(self.lg_k)
        for sketch in (self, *others):
            united.update(sketch._compact())
        return _bounded(united.get_result())

    @question
    def intersection(self, *others: Self) -> Estimate:
        """Number of distinct keys found in this synopsis and in each of the others."""
        shared = datasketches.theta_intersection()
        for sketch in (self, *others):
            shared.update(sketch._compact())
        return _bounded(shared.get_result())

    @question
    def difference(self, other: Self) -> Estimate:
        """Number of distinct keys in this synopsis that are not in the other."""
        return _bounded(datasketches.theta_a_not_b().compute(self._compact(), other._compact()))

    @question
    def jaccard(self, other: Self) -> Estimate:
        """Keys in both as a share of keys in either (two empty synopses: 1)."""
        similarity = datasketches.theta_jaccard_similarity
        lower, value, upper = similarity.jaccard(self._compact(), other._compact())
        return Estimate(value, min(lower, value), max(value, upper), _JACCARD_CONFIDENCE)

    def _compact(self) -> Any:
        return datasketches.compact_theta_sketch.deserialize(self.to_datasketches())

    # -- exchange -----------------------------------------------------------------------------

    def to_datasketches(self) -> bytes:
        """This sketch as an Apache DataSketches compact theta sketch."""
        return exchange.write(*self._retained())

    @classmethod
    def from_datasketches(cls, data: bytes, lg_k: int = 12) -> Self:
        """The sketch in the bytes of an Apache DataSketches theta sketch, with room for 2^lg_k."""
        sketch = cls(lg_k=lg_k)
        sketch._replace(*exchange.read(data))
        return sketch

    @classmethod
    def example(cls) -> Self:
        return cls(lg_k=5)


def _bounded(sketch: Any) -> Estimate:
    value = float(sketch.get_estimate())
    lower, upper = sketch.get_lower_bound(_SIGMAS), sketch.get_upper_bound(_SIGMAS)
    return Estimate(value, float(min(lower, value)), float(max(value, upper)), _CONFIDENCE)
