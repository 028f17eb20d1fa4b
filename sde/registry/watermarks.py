"""How far the clocks of data sets are: the same in every shard.

Partitions of a topic are read at different paces, so a data set's watermark is that of the
partition that is furthest behind: what is in order in its partition is never late. A partition
counts from the first tuples of the data set, in whichever partition they are, until it is silent:
the first batch of a data set may well hold some of its partitions only. Whether one is silent or
only read more slowly than others, tuples cannot tell; a tick that says what is left to be read can.
So the watermark does not depend on how tuples are cut into batches, also while a backlog is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from sde.records.loop import Reached

SILENCE = 10_000  # ms without tuples, and with nothing left to be read, that end a partition's say
BEGINNING = 3_000  # the same for a partition that no tuple of the data set has come from
NOTHING_YET = (-(2**62) + 1, 0)  # what such a partition has reached


def later(one: Reached, other: Reached) -> Reached:
    """What both say together."""
    both = dict(one)
    for partition, (time, arrival) in other.items():
        held = both.get(partition, (time, arrival))
        both[partition] = (max(time, held[0]), max(arrival, held[1]))
    return both


@dataclass(slots=True)
class _Clock:
    time: int | None = None  # the watermark; None while a partition may still begin
    reached: Reached = field(default_factory=dict)  # of the partitions that count
    quiet_since: dict[str, int] = field(default_factory=dict)  # the first tick after their tuples


class Watermarks:
    """By data set and clock."""

    def __init__(self) -> None:
        self._clocks: dict[str, dict[str, _Clock]] = defaultdict(dict)
        self.partitions: list[str] = []  # of the data topics, if known

    def get(self, dataset: str, clock: str) -> int | None:
        found = self._clocks[dataset].get(clock) if dataset in self._clocks else None
        return None if found is None else found.time

    def set(self, dataset: str, clock: str, time: int) -> None:
        """Move a watermark; never back."""
        one = self._clock(dataset, clock)
        one.time = time if one.time is None else max(time, one.time)

    def beginning(self, dataset: str, clock: str, news: Reached) -> Reached:
        """`news`; if they are the first of a data set, of all partitions it may have."""
        if clock in self._clocks.get(dataset, {}):
            return news
        return dict.fromkeys(self.partitions, NOTHING_YET) | news

    def after(self, dataset: str, clock: str, news: Reached) -> int | None:
        """Where the watermark is once `news` of some partitions are known."""
        one = self._clocks.get(dataset, {}).get(clock, _Clock())
        lowest = min(later(one.reached, news).values(), default=NOTHING_YET)
        if lowest == NOTHING_YET:
            return one.time
        return lowest[0] if one.time is None else max(one.time, lowest[0])

    def behind(self) -> list[tuple[str, str, int]]:
        """Data set, clock and time of watermarks that may go on: who was waited for is silent."""
        return [
            (dataset, clock, time)
            for dataset, clocks in self._clocks.items()
            for clock, one in clocks.items()
            if (time := self.after(dataset, clock, {})) is not None and time != one.time
        ]

    def learn(self, dataset: str, clock: str, news: Reached) -> None:
        """Tuples came from some partitions."""
        one = self._clock(dataset, clock)
        one.reached = later(one.reached, news)
        for partition in news:
            one.quiet_since.pop(partition, None)

    def learn_quiet(self, dataset: str, clock: str, since: dict[str, int]) -> None:
        """Some partitions are quiet since a tick."""
        self._clock(dataset, clock).quiet_since.update(since)

    def forget(self, dataset: str, clock: str) -> None:
        """No window has this clock any more."""
        clocks = self._clocks.get(dataset, {})
        clocks.pop(clock, None)
        if not clocks:
            self._clocks.pop(dataset, None)

    def on_tick(self, time: int, left: dict[str, int]) -> None:
        """Partitions without tuples may be silent; `left` tells of which something is unread yet.

        Tuples came some time between two ticks; silence counts from the second of them.
        """
        for clocks in self._clocks.values():
            for one in clocks.values():
                for partition, reached in list(one.reached.items()):
                    if left.get(partition):
                        one.quiet_since.pop(partition, None)
                        continue
                    enough = BEGINNING if reached == NOTHING_YET else SILENCE
                    if time - one.quiet_since.setdefault(partition, time) >= enough:
                        del one.reached[partition], one.quiet_since[partition]

    def next_due(self, last: int) -> int | None:
        """When a tick is needed, if a partition is behind others; `last` is the time of the last.

        None: nobody is waiting for anybody.
        """
        due = None
        for clocks in self._clocks.values():
            for one in clocks.values():
                if NOTHING_YET in one.reached.values():
                    return last + BEGINNING // 3
                if len({time for time, _ in one.reached.values()}) > 1:
                    due = last + SILENCE // 2
        return due

    def _clock(self, dataset: str, clock: str) -> _Clock:
        return self._clocks[dataset].setdefault(clock, _Clock())

    def __iter__(self) -> Iterator[tuple[str, str, int | None, Reached, dict[str, int]]]:
        """Data set, clock, watermark, how far its partitions are, and since when they are quiet."""
        for dataset, clocks in self._clocks.items():
            for clock, one in clocks.items():
                yield dataset, clock, one.time, one.reached, one.quiet_since
