"""Top-k: which keys are the largest?"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.best_values import BestValues
from synopses.errors import ParameterError, QueryError
from synopses.items import Items
from synopses.kinds.frequent_items import FrequentItems
from synopses.parameters import parameter
from synopses.questions import Estimate, question


class TopK(BankedSynopsis):
    """The k largest keys, by total weight or by single value.

    `by="total"` adds a key's values up, as for the stocks with the largest volume: every total
    lies between its bounds, at most `epsilon` times the total of all keys apart, and no key left
    out weighs more than the answer says, always (SpaceSaving counters [1]_). `by="value"` takes
    the largest single value of a key, or with `smallest=True` the smallest, as for the stocks
    with the highest price: exact, and the same for any order or repetition of the items. Equal
    keys stand in the order of their hashes. Values of 0 or less do not count towards a total;
    rounding to `decimals` and saturation are stated as by `frequent_items`.

    Examples
    --------
    >>> from synopses import Items, TopK
    >>> trades = Items.of(["a", "b", "a", "c"], values=[2, 3, 2, 1])
    >>> by_total, by_value = TopK(k=2), TopK(k=2, by="value")
    >>> by_total.add(trades)
    >>> by_value.add(trades)
    >>> [found["key"] for found in by_total.top().value]
    ['a', 'b']
    >>> by_value.top().value
    [{'key': 'b', 'value': 3.0}, {'key': 'a', 'value': 2.0}]

    References
    ----------
    .. [1] Metwally, Agrawal and El Abbadi, Efficient computation of frequent and top-k elements
       in data streams, ICDT 2005.
    """

    kind = "top_k"
    reads = frozenset({"keys", "texts", "values"})
    later_arrays: ClassVar[tuple[str, ...]] = FrequentItems.later_arrays
    guarantee = (
        "by total: lower <= total of a key <= upper <= lower + epsilon * total of all, and no key "
        "left out is above `left_out`, always (values with more than `decimals` widen the bounds "
        "by the `rounding` stated, on each side); by value: exact"
    )

    k: int = parameter(10, least=1, most=1000, doc="number of keys")
    by: str = parameter(
        "total",
        choices=("total", "value"),
        doc="what a key is ranked by: sum or best of its values",
    )
    smallest: bool = parameter(False, doc="the smallest instead of the largest (by value only)")
    epsilon: float = parameter(
        0.01, least=1e-5, most=0.5, doc="error of a total as a share of all weight (by total only)"
    )
    decimals: int = parameter(
        3, least=0, most=9, doc="decimals of a weight that are counted (by total only)"
    )
    max_key_bytes: int = parameter(
        48, least=1, most=1000, unit="bytes", doc="longer keys are cut when shown"
    )

    def _prepare(self) -> None:
        super()._prepare()
        self._way: FrequentItems | BestValues
        if self.by == "value":
            self._way = BestValues(
                k=self.k, smallest=self.smallest, max_key_bytes=self.max_key_bytes
            )
            return
        self._way = FrequentItems(
            epsilon=self.epsilon, decimals=self.decimals, max_key_bytes=self.max_key_bytes
        )
        if self.smallest:
            raise ParameterError("smallest", True, "false where by=total")
        if self.k >= self._way.counters:
            raise ParameterError(
                "k", self.k, f"below 2 / epsilon: at most {self._way.counters - 1}"
            )

    def layout(self) -> Layout:
        return self._way.layout()

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        self._way.add_slots(arrays, slots, items)

    def _state(self) -> FrequentItems | BestValues:
        """The algorithm, on the arrays of this synopsis."""
        return self._way.at(self.arrays, 0)

    def _merge(self, other: Self) -> None:
        self._state()._merge(other._state())  # type: ignore[arg-type]  # equal params, equal ways

    def _load(self, payload: memoryview) -> None:
        self._state()._load(payload)

    @question(most={"n": 1000})
    def top(self, n: int = 0) -> Estimate:
        """The n largest keys, the largest first (0: all k)."""
        if not 0 <= n <= self.k:
            raise QueryError("query.n", n, f"a number from 0 to k={self.k}")
        state = self._state()
        if isinstance(state, BestValues):
            best = [{"key": key, "value": value} for key, value in state.best()]
            return Estimate(best[: n or self.k], confidence=1.0)
        counts, shown = state.heaviest(), n or self.k
        value = [
            {"key": c.key, "value": c.highest, "lower": c.lower, "upper": c.upper}
            for c in counts[:shown]
        ]
        bounds = [state.floor, *(c.upper for c in counts[shown : shown + 1])]
        known = [bound for bound in bounds if bound is not None]
        left_out = max(known) if len(known) == len(bounds) else None
        details = {"left_out": left_out, **state.losses().details}
        return Estimate(value, confidence=1.0, details=details)
