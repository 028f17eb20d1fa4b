"""How often somebody may ask: a bucket of tokens for each, filled at a steady rate."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

_MOST = 10_000  # buckets that are remembered; the one that was idle longest is forgotten


class Buckets:
    """A bucket takes two seconds to fill; whoever empties it waits for the next drop.

    >>> now = [0.0]
    >>> buckets = Buckets(1.0, lambda: now[0])
    >>> [buckets.take("a"), buckets.take("a"), buckets.take("a"), buckets.take("b")]
    [0.0, 0.0, 1.0, 0.0]
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._full, self._clock = rate, max(1.0, 2 * rate), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # content, and when

    def take(self, who: str) -> float:
        """0 if a request may pass, else the seconds until one may."""
        now = self._clock()
        content, then = self._buckets.pop(who, (self._full, now))
        content = min(self._full, content + (now - then) * self._rate)
        passes = content >= 1.0
        self._buckets[who] = (content - 1.0 if passes else content, now)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        return 0.0 if passes else (1.0 - content) / self._rate
