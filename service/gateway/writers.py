"""What callers wrote a moment ago: whoever says nothing of positions sees that, too."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from service.gateway.position import NOWHERE, Position

_SECONDS = 10.0  # after that a batch has applied it, but for an engine that is far behind
_MOST = 10_000  # callers that are remembered; the one that wrote first is forgotten


class Writers:
    """A convenience of one gateway: what is lost with it, or goes by another one, costs nobody
    more than an answer of a moment ago. Who has to be sure sends `Sde-At-Least`.

    >>> now = [0.0]
    >>> writers = Writers(lambda: now[0])
    >>> writers.note("ann", Position(batch=7))
    >>> writers.position("ann").batch, writers.position("bob") is NOWHERE
    (7, True)
    >>> now[0] = 11.0
    >>> writers.position("ann") is NOWHERE
    True
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrote: OrderedDict[str, tuple[float, Position]] = OrderedDict()  # when, and what

    def note(self, who: str, position: Position) -> None:
        if not position:
            return
        self._wrote[who] = self._clock(), self.position(who).and_also(position)
        self._wrote.move_to_end(who)
        if len(self._wrote) > _MOST:
            self._wrote.popitem(last=False)

    def position(self, who: str) -> Position:
        """How far an answer has to be so that `who` sees it."""
        when, position = self._wrote.get(who, (0.0, NOWHERE))
        if position and self._clock() - when > _SECONDS:
            del self._wrote[who]
            return NOWHERE
        return position
