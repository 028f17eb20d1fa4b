"""Count-Min sketch: how often did a key occur?"""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from synopses import fixed_point
from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.by_slot import by_slot
from synopses.fixed_point import LOSSES, Losses
from synopses.hashing import hash_key
from synopses.items import Items
from synopses.kernels import count_min as kernel
from synopses.median import failure
from synopses.parameters import parameter
from synopses.questions import Estimate, question

_ROW_FAILURE = 1 / (3 * math.e)  # of a row to stay within 3 epsilon, by Markov


class CountMinTable(BankedSynopsis):
    """What the two kinds of Count-Min share: parameters, shape, and the account of rounding."""

    reads = frozenset({"keys", "values"})
    later_arrays: ClassVar[tuple[str, ...]] = (LOSSES,)

    epsilon: float = parameter(
        0.01, least=1e-8, below=1, doc="error as a share of the total weight"
    )
    delta: float = parameter(0.01, least=1e-9, below=1, doc="chance that the bound fails")
    decimals: int = parameter(3, least=0, most=9, doc="decimals of a weight that are counted")
    seed: int = parameter(9001, least=0, most=2**32, doc="only equal seeds merge")

    @property
    def depth(self) -> int:
        return math.ceil(math.log(1 / self.delta))

    @property
    def width(self) -> int:
        return math.ceil(math.e / self.epsilon)

    def _cells(self, key: str) -> NDArray[np.float64]:
        """The weight each row has for a key."""
        cells = np.empty(self.depth, np.int64)
        kernel.cells(self.arrays["table"], 0, hash_key(key)[0], np.uint64(self.seed), cells)
        return np.asarray(cells / 10.0**self.decimals)

    def _sum(self, name: str) -> float:
        return float(self.arrays[name][0] / 10.0**self.decimals)

    def _losses(self) -> Losses:
        return fixed_point.losses_of(self.arrays[LOSSES][0], self.decimals)

    def _at_most(self, value: float, scale: float, losses: Losses) -> Estimate:
        """An estimate that collisions make too high, never too low."""
        least = min(value, max(0.0, value - self.epsilon * scale)) - losses.rounding
        lower = least if losses.negative else max(0.0, least)
        upper = value + losses.rounding
        return Estimate(value, lower, upper, 1 - self.delta, losses.details)

    def _merge(self, other: Self) -> None:
        for name, array in self.arrays.items():
            if name != LOSSES:
                array += other.arrays[name]
        fixed_point.merge_losses(self.arrays[LOSSES], other.arrays[LOSSES])

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        fixed_point.check_losses(self.kind, self.arrays[LOSSES])

    @question
    def total(self) -> Estimate:
        """Total weight of all keys: exact, but for what rounding to `decimals` lost."""
        total, losses = self._sum("total"), self._losses()
        if losses.saturated:
            return Estimate(None, details=losses.details)
        bounds = total - losses.rounding, total + losses.rounding
        return Estimate(total, *bounds, 1.0, losses.details)

    @classmethod
    def example(cls) -> Self:
        return cls(epsilon=0.05, delta=0.05)


class CountMin(CountMinTable):
    """Weight of a key in a stream of weighted keys.

    With non-negative weights the estimate never falls below the true weight, and with
    probability at least `1 - delta` exceeds it by at most `epsilon` times the total weight [1]_.
    Once a negative weight came, the estimate is the median of the rows instead of the minimum and
    is off by at most `3 * epsilon` times the sum of absolute weights, up or down, with the
    confidence stated in the answer. Weights are counted in whole units of 10^-decimals, so that
    sums do not depend on order. The bounds of an answer are wider by what rounding lost, which the
    details state as `rounding`. Once absolute weights sum to 2^62 units there is no answer: the
    details say `saturated`.

    Examples
    --------
    >>> from synopses import CountMin, Items
    >>> sketch = CountMin(epsilon=0.01, delta=0.05)
    >>> sketch.add(Items.of(["a", "a", "b"]))
    >>> sketch.frequency("a").value
    2.0

    References
    ----------
    .. [1] Cormode and Muthukrishnan, An improved data stream summary: the count-min sketch and
       its applications, J. Algorithms 55(1), 2005.
    """

    kind = "count_min"
    linear = True
    order_free = True
    sums_weights = True
    guarantee = (
        "weight <= estimate <= weight + epsilon * total, with probability 1 - delta; weights with "
        "more than `decimals` widen the bounds by the `rounding` stated"
    )

    def layout(self) -> Layout:
        return {
            "table": (np.int64, (self.depth, self.width)),
            "total": (np.int64, ()),
            "absolute": (np.int64, ()),
            **fixed_point.LAYOUT,
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        slots, items = by_slot(self.memory, slots, items)
        weights, sizes = fixed_point.weights_of(items, self.decimals, arrays[LOSSES], slots)
        kernel.add(
            arrays["table"],
            arrays["total"],
            arrays["absolute"],
            slots,
            items.keys,
            weights,
            sizes,
            np.uint64(self.seed),
        )

    def subtract_slots(self, arrays: Arrays, slots: NDArray[np.int32], others: Arrays) -> None:
        losses = fixed_point.subtract_losses(arrays[LOSSES][slots], others[LOSSES])
        super().subtract_slots(arrays, slots, others)
        arrays[LOSSES][slots] = losses

    @question
    def frequency(self, key: str) -> Estimate:
        """Total weight of one key."""
        return self._bounded(
            self._cells(key), self._sum("absolute"), self._one_sided, self._losses()
        )

    @question
    def inner_product(self, other: Self) -> Estimate:
        """Sum over all keys of weight here times weight in the other synopsis."""
        unit = 10.0**-self.decimals
        mine, theirs = self.arrays["table"][0] * unit, other.arrays["table"][0] * unit
        here, there = self._sum("absolute"), other._sum("absolute")
        one, two = self._losses(), other._losses()
        losses = Losses(
            one.rounding * there + two.rounding * here + one.rounding * two.rounding,
            one.negative or two.negative,
            one.saturated or two.saturated,
        )
        one_sided = self._one_sided and other._one_sided
        return self._bounded((mine * theirs).sum(axis=1), here * there, one_sided, losses)

    @property
    def _one_sided(self) -> bool:
        """No negative weight came: collisions only ever add."""
        return bool(self.arrays["total"][0] == self.arrays["absolute"][0])

    def _bounded(
        self, rows: NDArray[np.float64], scale: float, one_sided: bool, losses: Losses
    ) -> Estimate:
        if losses.saturated:
            return Estimate(None, details=losses.details)
        if one_sided:
            return self._at_most(float(rows.min()), scale, losses)
        value, off = float(np.median(rows)), abs(3 * self.epsilon * scale) + losses.rounding
        sure = 1 - failure(self.depth, _ROW_FAILURE)
        return Estimate(value, value - off, value + off, sure, losses.details)


class ConservativeCountMin(CountMinTable):
    """Weight of a key, with about half the error of Count-Min in one stream read in order.

    The estimate never falls below the true weight, and with probability at least `1 - delta`
    exceeds it by at most `epsilon` times the total weight. A counter is raised no further than the
    estimate needs [1]_, so the state depends on the order, cannot be subtracted and has no inner
    product. Merging adds the counters, which keeps the guarantee but not the gain. Weights that
    are not positive are left out; rounding and saturation are stated as by Count-Min.

    Examples
    --------
    >>> from synopses import ConservativeCountMin, Items
    >>> sketch = ConservativeCountMin(epsilon=0.01, delta=0.05)
    >>> sketch.add(Items.of(["a", "a", "b"]))
    >>> sketch.frequency("a").value
    2.0

    References
    ----------
    .. [1] Estan and Varghese, New directions in traffic measurement and accounting, SIGCOMM 2002.
    """

    kind = "count_min_conservative"
    guarantee = (
        "weight <= estimate <= weight + epsilon * total, with probability 1 - delta; weights with "
        "more than `decimals` widen the bounds by the `rounding` stated"
    )

    def layout(self) -> Layout:
        return {
            "table": (np.int64, (self.depth, self.width)),
            "total": (np.int64, ()),
            **fixed_point.LAYOUT,
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        slots, items = by_slot(self.memory, slots, items)
        weights = fixed_point.to_units(
            items.values, self.decimals, arrays[LOSSES], slots, positive_only=True
        )
        seed = np.uint64(self.seed)
        kernel.raise_to(arrays["table"], arrays["total"], slots, items.keys, weights, seed)

    @question
    def frequency(self, key: str) -> Estimate:
        """Total weight of one key."""
        losses = self._losses()
        if losses.saturated:
            return Estimate(None, details=losses.details)
        return self._at_most(float(self._cells(key).min()), self._sum("total"), losses)
