"""HyperLogLog: how many distinct keys?"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from synopses import hyperloglog_exchange as exchange
from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.errors import ParameterError, StateError
from synopses.items import Items
from synopses.kernels import hyperloglog as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate, question

_LARGEST_REGISTER = 63
_SIGMAS, _CONFIDENCE = 3.0, 0.99


class HyperLogLog(BankedSynopsis):
    """Number of distinct keys in a stream.

    With m = 2^lg_k registers the estimate has a relative standard error of `1.04 / sqrt(m)` [1]_,
    and of `1 + 3.2 / m` times that where m is small (measured). The interval holds the true number
    with probability 0.99: three standard errors on each side, as factors, because few registers
    err further upwards than downwards; and up to the next whole number, because of a handful of
    keys two may share a register. Registers are built from the two words of a key's hash exactly
    as Apache DataSketches does, so that sketches can be exchanged. As there, a register counts the
    zeros of a whole word: it goes up to 63 whatever `lg_k` is, and Ertl's estimator [2]_ is used
    with that limit.

    Examples
    --------
    >>> from synopses import HyperLogLog, Items
    >>> sketch = HyperLogLog(lg_k=12)
    >>> sketch.add(Items.of(range(100_000)))
    >>> 97_000 < sketch.cardinality().value < 103_000
    True

    References
    ----------
    .. [1] Flajolet, Fusy, Gandouet and Meunier, HyperLogLog: the analysis of a near-optimal
       cardinality estimation algorithm, AofA 2007.
    .. [2] Ertl, New cardinality estimation algorithms for HyperLogLog sketches, 2017,
       arXiv:1702.01284.
    """

    kind = "hyperloglog"
    order_free = True
    idempotent = True
    guarantee = (
        "relative standard error 1.04 (1 + 3.2 / m) / sqrt(m) with m = 2^lg_k; bounds hold with "
        "probability 0.99"
    )

    lg_k: int = parameter(12, least=4, most=21, doc="binary logarithm of the number of registers")

    @classmethod
    def from_error(cls, relative_error: float) -> Self:
        """The smallest sketch with at most this relative standard error.

        >>> HyperLogLog.from_error(0.02).lg_k
        12
        """
        if not 0 < relative_error < 1:
            raise ParameterError("relative_error", relative_error, "a number above 0 and below 1")
        enough = (lg_k for lg_k in range(4, 22) if _standard_error(lg_k) <= relative_error)
        return cls(lg_k=next(enough, 22))  # which is refused

    @property
    def relative_error(self) -> float:
        return _standard_error(self.lg_k)

    def layout(self) -> Layout:
        return {"registers": (np.uint8, (2**self.lg_k,))}

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        kernel.add(arrays["registers"], slots, items.keys)

    def _merge(self, other: Self) -> None:
        mine = self.arrays["registers"]
        np.maximum(mine, other.arrays["registers"], out=mine)

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        largest = int(self.arrays["registers"].max())
        if largest > _LARGEST_REGISTER:
            raise StateError(f"{self.kind}: a register is {largest}, at most 63 is possible")

    @question
    def cardinality(self) -> Estimate:
        """Number of distinct keys."""
        return _estimate(self.arrays["registers"][0], self.relative_error)

    @question
    def union(self, *others: Self) -> Estimate:
        """Number of distinct keys in this synopsis and the others together."""
        registers = np.maximum.reduce([s.arrays["registers"][0] for s in (self, *others)])
        return _estimate(registers, self.relative_error)

    def to_datasketches(self) -> bytes:
        """This sketch as an Apache DataSketches HLL sketch of type HLL_8.

        >>> import datasketches
        >>> sketch = HyperLogLog()
        >>> sketch.add(Items.of(["a", "b"]))
        >>> round(datasketches.hll_sketch.deserialize(sketch.to_datasketches()).get_estimate())
        2
        """
        return exchange.write(self.lg_k, self.arrays["registers"][0])

    @classmethod
    def from_datasketches(cls, data: bytes) -> Self:
        """The sketch in the bytes of an Apache DataSketches HLL sketch of any type."""
        lg_k, registers = exchange.read(data)
        sketch = cls(lg_k=lg_k)
        sketch.arrays["registers"][0] = registers
        return sketch

    @classmethod
    def example(cls) -> Self:
        return cls(lg_k=8)


def _standard_error(lg_k: int) -> float:
    registers = 2**lg_k
    return float(1.04 * (1 + 3.2 / registers) / math.sqrt(registers))


def _estimate(registers: NDArray[np.uint8], relative_error: float) -> Estimate:
    histogram = np.bincount(registers, minlength=_LARGEST_REGISTER + 1)
    value = _ertl(histogram.tolist())
    # Each register that is not zero has met a key of its own.
    factor = math.exp(_SIGMAS * relative_error)
    lower = max(value / factor, len(registers) - int(histogram[0]))
    return Estimate(value, min(lower, value), float(math.ceil(value * factor)), _CONFIDENCE)


def _ertl(histogram: list[int]) -> float:
    """Ertl's improved raw estimator of registers with the given histogram."""
    m = sum(histogram)
    if histogram[0] == m:
        return 0.0
    z = m * _tau(1 - histogram[-1] / m)
    for count in reversed(histogram[1:-1]):
        z = (z + count) / 2
    z += m * _sigma(histogram[0] / m)
    # Only registers that are all full, which no data brings about, would leave nothing.
    return m * m / (2 * math.log(2) * max(z, 2.0**-64))


def _sigma(x: float) -> float:
    total, power, weight = x, x, 1.0
    while True:
        power *= power
        before, total, weight = total, total + power * weight, weight * 2
        if total == before:
            return total


def _tau(x: float) -> float:
    if x in (0.0, 1.0):
        return 0.0
    total, root, weight = 1 - x, x, 1.0
    while True:
        root, weight = math.sqrt(root), weight / 2
        before, total = total, total - (1 - root) ** 2 * weight
        if total == before:
            return total / 3
