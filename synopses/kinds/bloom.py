"""Bloom filter: was this key ever seen?"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.by_slot import by_slot
from synopses.hashing import hash_key
from synopses.items import Items
from synopses.kernels import bloom as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate, question

_SIGMAS, _CONFIDENCE = 3.0, 0.99


class Bloom(BankedSynopsis):
    """Set of keys that may claim too much, never too little.

    A key that was added is always found; one that was not is found with probability at most
    `fpp` as long as no more than `capacity` distinct keys were added [1]_. Every answer states the
    rate at the filter's present fill. The number of keys follows from the fill [2]_: its interval
    is three standard deviations wide on each side, rounded outwards to whole numbers, and holds
    with probability 0.99.

    Examples
    --------
    >>> from synopses import Bloom, Items
    >>> seen = Bloom(capacity=1000, fpp=0.01)
    >>> seen.add(Items.of(["EURUSD", "GBPUSD"]))
    >>> seen.contains("EURUSD").value, seen.contains("USDJPY").value
    (True, False)

    References
    ----------
    .. [1] Bloom, Space/time trade-offs in hash coding with allowable errors, CACM 13(7), 1970.
    .. [2] Swamidass and Baldi, Mathematical correction for fingerprint similarity measures to
       improve chemical retrieval, J. Chem. Inf. Model. 47(3), 2007.
    """

    kind = "bloom"
    order_free = True
    idempotent = True
    guarantee = (
        "an added key is always found, another with probability fpp while at most capacity keys "
        "were added"
    )

    capacity: int = parameter(10_000, least=1, most=10**9, doc="distinct keys it is made for")
    fpp: float = parameter(
        0.01, least=1e-9, below=1, doc="false-positive probability when filled to capacity"
    )

    @property
    def bits(self) -> int:
        """Size in bits, rounded up to whole words: filled to capacity, a bit is set with
        probability fpp^(1 / hashes)."""
        unset = math.log1p(-(self.fpp ** (1 / self.hashes)))
        return 64 * math.ceil(-self.capacity * self.hashes / unset / 64)

    @property
    def hashes(self) -> int:
        """Bits set for each key: a quarter fewer than would make the filter smallest.

        A key is added so much faster; the filter grows by 2 to 3 %.
        """
        return max(1, math.ceil(-0.75 * math.log2(self.fpp)))

    def layout(self) -> Layout:
        return {"words": (np.uint64, (self.bits // 64,))}

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        slots, items = by_slot(self.memory, slots, items)
        kernel.add(arrays["words"], slots, items.keys, self.hashes)

    def _merge(self, other: Self) -> None:
        self.arrays["words"] |= other.arrays["words"]

    @question
    def contains(self, key: str) -> Estimate:
        """Was this key added? No is certain; yes is wrong at the rate stated in the details."""
        found = bool(kernel.contains(self.arrays["words"], 0, hash_key(key)[0], self.hashes))
        rate = (self._ones(self.arrays["words"]) / self.bits) ** self.hashes
        details = {"false_positive_rate": rate}
        return Estimate(found, confidence=1 - rate if found else 1.0, details=details)

    @question
    def cardinality(self) -> Estimate:
        """Number of distinct keys."""
        return self._count(self.arrays["words"])

    @question
    def union(self, *others: Self) -> Estimate:
        """Number of distinct keys in this synopsis and the others together."""
        return self._count(np.bitwise_or.reduce([s.arrays["words"] for s in (self, *others)]))

    def _ones(self, words: NDArray[np.uint64]) -> int:
        return int(np.bitwise_count(words).sum())

    def _count(self, words: NDArray[np.uint64]) -> Estimate:
        ones = self._ones(words)
        if ones == self.bits:  # full: any larger number of keys would look the same
            likely = self.bits / self.hashes * math.log(self.bits)
            return Estimate(likely, self.bits / self.hashes, None, _CONFIDENCE, {"full": True})
        load = -math.log1p(-ones / self.bits)
        deviation = math.sqrt(self.bits * max(0.0, math.expm1(load) - load)) / self.hashes
        # A key sets at most `hashes` bits, so there were at least this many keys.
        fewest = math.ceil(ones / self.hashes)
        value = max(self.bits * load / self.hashes, fewest)
        lower = max(math.floor(value - _SIGMAS * deviation), fewest)
        return Estimate(value, lower, math.ceil(value + _SIGMAS * deviation), _CONFIDENCE)

    @classmethod
    def example(cls) -> Self:
        return cls(capacity=500, fpp=0.02)
