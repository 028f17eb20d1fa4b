"""The batch size, in bytes, that makes a batch take about a set time.

A batch takes a fixed time, whatever it holds, and some time for what it reads. Both are learnt
from the batches that ran (a line through the recent ones), because only the second can be made
smaller: cutting batches when the machine is slow would make everything slower. So a batch may
take the target, or twice its fixed time if that is longer, but not much more than the target: the
first batches of an engine take much longer than later ones, whatever they hold.
"""

from __future__ import annotations

# A batch four times as large at most, so that a change of the data cannot turn one batch into
# minutes.
_FASTEST_GROWTH = 4.0
_FASTEST_SHRINK = 0.25
# A batch smaller than this part of the budget says little about how long a full one takes.
_TELLING = 0.5
_LONGEST = 2.0  # times the target that reading may take beside the fixed time
_REMEMBERED = 0.75  # of what earlier batches say, when one more is learnt from
_SPREAD = 0.01  # of the sizes (variance over squared mean) from which a line can be drawn
_DOUBTED = 0.9  # of a long fixed time is believed, each time nothing is learnt of it
_FIRST_GUESS = 0.6  # of the first batch's time is fixed; what is seen later takes its place


class Pace:
    """Learns the budget of the next batch from the last ones; used by the source's planning."""

    def __init__(self, target_seconds: float, smallest: int, largest: int) -> None:
        self._target = target_seconds
        self._smallest, self._largest = smallest, largest
        self._budget = smallest
        self._fixed = 0.0
        # Weighted sums over the batches so far: 1, size n, seconds t, n squared, n times t.
        self._weight = self._n = self._t = self._nn = self._nt = 0.0

    @property
    def budget(self) -> int:
        """How many bytes the next batch may have."""
        return self._budget

    def record(self, size: int, seconds: float) -> None:
        """Learn from a batch of `size` bytes that took `seconds`."""
        if not self._weight:
            self._remember(0.0, _FIRST_GUESS * seconds)
        self._remember(float(size), seconds)
        each = self._time_of_a_byte()
        allowed = min(max(self._target - self._fixed, self._fixed), _LONGEST * self._target)
        factor = allowed / max(each * self._budget, 1e-9)
        if factor > 1 and size < _TELLING * self._budget:
            return  # the batch was small: a larger budget would only be a guess
        factor = min(max(factor, _FASTEST_SHRINK), _FASTEST_GROWTH)
        self._budget = min(max(int(self._budget * factor), self._smallest), self._largest)

    def _remember(self, n: float, t: float) -> None:
        self._weight = _REMEMBERED * self._weight + 1
        self._n = _REMEMBERED * self._n + n
        self._t = _REMEMBERED * self._t + t
        self._nn = _REMEMBERED * self._nn + n * n
        self._nt = _REMEMBERED * self._nt + n * t

    def _time_of_a_byte(self) -> float:
        """Seconds per byte, by the line through recent batches; updates the fixed time as well."""
        mean_n, mean_t = self._n / self._weight, self._t / self._weight
        variance = self._nn / self._weight - mean_n**2
        if variance > _SPREAD * mean_n**2:
            slope = max(0.0, (self._nt / self._weight - mean_n * mean_t) / variance)
            self._fixed = max(0.0, mean_t - slope * mean_n)
        elif self._fixed > self._target:
            self._fixed *= _DOUBTED  # batches of one size cannot tell: let it vary
        self._fixed = min(self._fixed, mean_t)
        return (mean_t - self._fixed) / max(mean_n, 1.0)
