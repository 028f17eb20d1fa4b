"""The batch size that makes a batch take about a set time.

A batch takes a fixed time, whatever it holds, and some time for each message. Both are learnt
from the batches that ran (a line through the recent ones), because only the second can be made
smaller: cutting batches when the machine is slow would make everything slower.
"""

from __future__ import annotations

# A batch four times as large at most: a ramp from the first budget to full speed takes seconds,
# and a sudden change of message size cannot turn one batch into minutes.
_FASTEST_GROWTH = 4.0
_FASTEST_SHRINK = 0.25
# A batch smaller than this part of the budget says little about how long a full one takes.
_TELLING = 0.5
_REMEMBERED = 0.8  # of what earlier batches say, when one more is learnt from
_SPREAD = 0.01  # of the sizes (variance over squared mean) from which a line can be drawn


class Pace:
    def __init__(self, target_seconds: float, first: int, smallest: int, largest: int) -> None:
        self._target = target_seconds
        self._smallest, self._largest = smallest, largest
        self._budget = min(max(first, smallest), largest)
        self._overhead = 0.0
        self._line = False  # whether overhead and work could be told apart yet
        self._weight = self._n = self._t = self._nn = self._nt = 0.0

    @property
    def budget(self) -> int:
        """Messages the next batch may have."""
        return self._budget

    def record(self, messages: int, seconds: float) -> None:
        """A batch of that many messages took that long."""
        each = self._learn(float(messages), seconds)
        # At least as long for the messages as for the rest, however slow the machine is.
        working = max(self._target - self._overhead, self._overhead)
        wish = working / max(each, 1e-9) / self._budget
        if messages < _TELLING * self._budget and (wish > 1 or not self._line):
            return  # little came: what it took is overhead, as far as is known
        factor = min(max(wish, _FASTEST_SHRINK), _FASTEST_GROWTH)
        self._budget = min(max(int(self._budget * factor), self._smallest), self._largest)

    def _learn(self, n: float, t: float) -> float:
        """Seconds a message takes, beside the overhead of a batch."""
        self._weight = _REMEMBERED * self._weight + 1
        self._n = _REMEMBERED * self._n + n
        self._t = _REMEMBERED * self._t + t
        self._nn = _REMEMBERED * self._nn + n * n
        self._nt = _REMEMBERED * self._nt + n * t
        mean_n, mean_t = self._n / self._weight, self._t / self._weight
        variance = self._nn / self._weight - mean_n**2
        if variance > _SPREAD * mean_n**2:
            self._line = True
            slope = max(0.0, (self._nt / self._weight - mean_n * mean_t) / variance)
            self._overhead = min(max(0.0, mean_t - slope * mean_n), mean_t)
        self._overhead = min(self._overhead, t)
        return max(mean_t - self._overhead, 0.0) / max(mean_n, 1.0)
