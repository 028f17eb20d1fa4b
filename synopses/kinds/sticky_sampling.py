"""Sticky sampling: the keys with a support fixed in advance."""

from __future__ import annotations

from synopses.errors import ParameterError
from synopses.key_counters import KeyCounters
from synopses.parameters import parameter
from synopses.questions import Estimate, question


class StickySampling(KeyCounters):
    """All keys whose share of the total weight reaches `support`.

    With probability at least `1 - failure_probability` every key of that support is found, and
    no frequency is above the true weight, or below it by more than `epsilon` times the total
    weight: the sentence of sticky sampling [1]_. The paper samples; here the deterministic,
    mergeable counters of `frequent_items` keep the sentence with certainty and in less memory,
    so `failure_probability` is a promise that is never drawn on. Items with a weight of 0 or
    less are left out; rounding to `decimals` and saturation are stated as by `frequent_items`.

    Examples
    --------
    >>> from synopses import Items, StickySampling
    >>> sketch = StickySampling(support=0.5, epsilon=0.1)
    >>> sketch.add(Items.of(["a", "b", "a", "c"]))
    >>> [found["key"] for found in sketch.frequent().value], sketch.frequency("b").value
    (['a'], 1.0)

    References
    ----------
    .. [1] Manku and Motwani, Approximate frequency counts over data streams, VLDB 2002.
    """

    kind = "sticky_sampling"
    guarantee = (
        "weight - epsilon * total <= estimate <= weight and every key with `support` is found, "
        "with probability 1 - failure_probability (here: always); weights with more than "
        "`decimals` lower the estimate by up to twice the `rounding` stated"
    )

    support: float = parameter(
        0.05, above=0, below=1, doc="share of the total weight that makes a key frequent"
    )
    failure_probability: float = parameter(
        0.01, above=0, below=1, doc="chance that the bound fails"
    )

    def _prepare(self) -> None:
        super()._prepare()
        if self.support < self.epsilon:
            raise ParameterError("support", self.support, f"at least epsilon={self.epsilon}")

    @question
    def frequency(self, key: str) -> Estimate:
        """Weight of one key, at most epsilon * total too low, never too high."""
        count = self._count(key)
        return Estimate(count.lower, count.lower, count.upper, 1.0, self.losses().details)

    @question
    def frequent(self) -> Estimate:
        """All keys with the support asked for; none with epsilon less than that."""
        return self._frequent(self.support)
