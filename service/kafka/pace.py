"""The batch size that makes a batch take about a set time."""

from __future__ import annotations

# A batch four times as large at most: a ramp from the first budget to full speed takes seconds,
# and a sudden change of message size cannot turn one batch into minutes.
_FASTEST_GROWTH = 4.0
_FASTEST_SHRINK = 0.25
# A batch smaller than this part of the budget says little about how long a full one takes.
_TELLING = 0.5


class Pace:
    def __init__(self, target_seconds: float, first: int, smallest: int, largest: int) -> None:
        self._target = target_seconds
        self._smallest, self._largest = smallest, largest
        self._budget = min(max(first, smallest), largest)

    @property
    def budget(self) -> int:
        """Messages the next batch may have."""
        return self._budget

    def record(self, messages: int, seconds: float) -> None:
        """A batch of that many messages took that long."""
        wish = self._target / max(seconds, 1e-3)
        if wish > 1 and messages < _TELLING * self._budget:
            return  # it was quick because little came
        factor = min(max(wish, _FASTEST_SHRINK), _FASTEST_GROWTH)
        self._budget = min(max(int(self._budget * factor), self._smallest), self._largest)
