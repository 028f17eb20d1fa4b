"""Lossy counting: frequencies that are never too high."""

from __future__ import annotations

from synopses.key_counters import KeyCounters
from synopses.questions import Estimate, question


class LossyCounting(KeyCounters):
    """Frequency of keys, and all keys with a given support, as lossy counting gives them.

    No frequency is above the true weight, or below it by more than `epsilon` times the total
    weight, always: the sentence of lossy counting [1]_. Underneath are the mergeable counters of
    `frequent_items`, which keep it in fixed memory, where the paper's buckets grow with the
    logarithm of the stream. Items with a weight of 0 or less are left out; rounding to `decimals`
    and saturation are stated as by `frequent_items`.

    Examples
    --------
    >>> from synopses import Items, LossyCounting
    >>> sketch = LossyCounting(epsilon=0.1)
    >>> sketch.add(Items.of(["a", "b", "a", "c"]))
    >>> sketch.frequency("a").value, [found["key"] for found in sketch.frequent(0.5).value]
    (2.0, ['a'])

    References
    ----------
    .. [1] Manku and Motwani, Approximate frequency counts over data streams, VLDB 2002.
    """

    kind = "lossy_counting"
    guarantee = (
        "weight - epsilon * total <= estimate <= weight, always; weights with more than `decimals` "
        "lower the estimate by up to twice the `rounding` stated"
    )

    @question
    def frequency(self, key: str) -> Estimate:
        """Weight of one key, at most epsilon * total too low, never too high."""
        count = self._count(key)
        return Estimate(count.lower, count.lower, count.upper, 1.0, self.losses().details)

    @question
    def frequent(self, support: float) -> Estimate:
        """All keys with this share of the total or more; none with epsilon less than that."""
        self._check_share("support", support)
        return self._frequent(support)
