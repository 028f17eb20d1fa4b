"""How far the clocks of data sets are: the same in every shard.

Partitions of a topic are read at different paces, so a data set's watermark is that of the
partition that is furthest behind: what is in order in its partition is never late. A partition
counts from its first tuples until it is silent. Whether it is silent or only read more slowly than
others, tuples cannot tell; a tick that says all was read can. So the watermark does not depend on
how tuples are cut into batches, also while a backlog is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from sde.records.loop import Reached

SILENCE = 10_000  # ms without tuples, and with nothing left to be read, that end a partition's say


def later(one: Reached, other: Reached) -> Reached:
    """What both say together."""
    both = dict(one)
    for partition, (time, arrival) in other.items():
        held = both.get(partition, (time, arrival))
        both[partition] = (max(time, held[0]), max(arrival, held[1]))
    return both


@dataclass(slots=True)
class _Clock:
    time: int | None = None  # the watermark
    reached: Reached = field(default_factory=dict)  # of the partitions that count
    quiet_since: dict[str, int] = field(default_factory=dict)  # the first tick after their tuples


class Watermarks:
    """By data set and clock."""

    def __init__(self) -> None:
        self._clocks: dict[str, dict[str, _Clock]] = defaultdict(dict)

    def get(self, dataset: str, clock: str) -> int | None:
        found = self._clocks[dataset].get(clock) if dataset in self._clocks else None
        return None if found is None else found.time

    def set(self, dataset: str, clock: str, time: int) -> None:
        """Move a watermark; never back."""
        one = self._clock(dataset, clock)
        one.time = time if one.time is None else max(time, one.time)

    def after(self, dataset: str, clock: str, news: Reached) -> int:
        """Where the watermark is once `news` of some partitions are known."""
        one = self._clocks.get(dataset, {}).get(clock, _Clock())
        lowest = min(time for time, _ in later(one.reached, news).values())
        return lowest if one.time is None else max(one.time, lowest)

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

    def on_tick(self, time: int) -> None:
        """At this time all was read that had come: partitions without tuples may be silent.

        Tuples came some time between two ticks; silence counts from the second of them.
        """
        for clocks in self._clocks.values():
            for one in clocks.values():
                for partition in list(one.reached):
                    if time - one.quiet_since.setdefault(partition, time) >= SILENCE:
                        del one.reached[partition], one.quiet_since[partition]

    def next_due(self, last: int) -> int | None:
        """When a tick is needed, if a partition is behind others; `last` is the time of the last.

        None: nobody is waiting for anybody.
        """
        for clocks in self._clocks.values():
            for one in clocks.values():
                times = {time for time, _ in one.reached.values()}
                if len(times) > 1:
                    return last + SILENCE // 2
        return None

    def _clock(self, dataset: str, clock: str) -> _Clock:
        return self._clocks[dataset].setdefault(clock, _Clock())

    def __iter__(self) -> Iterator[tuple[str, str, int, Reached, dict[str, int]]]:
        """Data set, clock, watermark, how far its partitions are, and since when they are quiet."""
        for dataset, clocks in self._clocks.items():
            for clock, one in clocks.items():
                if one.time is not None:
                    yield dataset, clock, one.time, one.reached, one.quiet_since
