"""Which requests were carried out that must not be carried out twice.

A repeated `create` or `delete` changes nothing by itself. An `import` would count a second time, a
`restore` would undo what came since: their ids are known for a day, however many requests follow.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

REMEMBERED = 24 * 3_600_000  # ms


class Repeats:
    """Ids with the time from which they are known, in the order of their requests."""

    def __init__(self) -> None:
        self._times: OrderedDict[str, int] = OrderedDict()

    def add(self, request_id: str, time: int) -> None:
        self._times[request_id] = time

    def knows(self, request_id: str, now: int) -> bool:
        """Whether its day is not over; `now` is the time of the last tick."""
        time = self._times.get(request_id)
        return time is not None and now < time + REMEMBERED

    def forget(self, now: int) -> None:
        """Give the room of those back whose day is over.

        Their order is nearly that of their times. One with a time of the future keeps those behind
        it, which `knows` does not mind.
        """
        while self._times and next(iter(self._times.values())) + REMEMBERED <= now:
            self._times.popitem(last=False)

    def count(self, now: int) -> int:
        """How many are known."""
        return sum(now < time + REMEMBERED for time in self._times.values())

    def next_due(self) -> int | None:
        """When a tick is needed to forget the oldest."""
        oldest = next(iter(self._times.values()), None)
        return None if oldest is None else oldest + REMEMBERED

    def __len__(self) -> int:
        return len(self._times)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._times.items())
