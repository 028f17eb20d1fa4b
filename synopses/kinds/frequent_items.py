"""Frequent items: which keys are heavy, and how heavy?"""

from __future__ import annotations

from synopses.key_counters import KeyCounters
from synopses.questions import Estimate, question


class FrequentItems(KeyCounters):
    """The heaviest keys of a stream of weighted keys, with their texts.

    Every weight lies between its lower and upper bound, which are at most `epsilon` times the
    total weight apart, always; so no key that heavy is missing [1]_ [2]_. A key that is heavy
    from the start has equal bounds: its weight is exact. Items with a weight of 0 or less are
    left out. Weights are counted in whole units of 10^-decimals: bounds are wider by what rounding
    lost, which the details state as `rounding`, and a key that is not named weighs at most
    `left_out`. Beyond a total of 2^62 units the details say `saturated`: nothing more is counted,
    and upper bounds are not known.

    Examples
    --------
    >>> from synopses import FrequentItems, Items
    >>> sketch = FrequentItems(epsilon=0.1)
    >>> sketch.add(Items.of(["a", "b", "a", "c"], values=[5, 1, 3, 1]))
    >>> sketch.heavy_hitters(0.5).value
    [{'key': 'a', 'estimate': 8.0, 'lower': 8.0, 'upper': 8.0}]

    References
    ----------
    .. [1] Metwally, Agrawal and El Abbadi, Efficient computation of frequent and top-k elements
       in data streams, ICDT 2005.
    .. [2] Agarwal et al., Mergeable summaries, PODS 2012.
    """

    kind = "frequent_items"
    guarantee = (
        "lower <= weight <= upper <= lower + epsilon * total, always; no heavy key missing; "
        "weights with more than `decimals` widen the bounds by the `rounding` stated, on each side"
    )

    @question
    def frequency(self, key: str) -> Estimate:
        """Total weight of one key (the upper bound; 0 if the key is not among the heaviest)."""
        count = self._count(key)
        value = count.highest if count.counted else 0.0
        return Estimate(value, count.lower, count.upper, 1.0, self.losses().details)

    @question
    def heavy_hitters(self, share: float) -> Estimate:
        """All keys that may have at least this share of the total weight, the heaviest first."""
        self._check_share("share", share)
        found = [count.shown(count.highest) for count in self._may_have(share)]
        return Estimate(found, confidence=1.0, details=self._details())

    @question
    def total(self) -> Estimate:
        """Total weight of all keys: exact, but for what rounding to `decimals` lost."""
        return self._total_weight()
