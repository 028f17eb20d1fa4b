"""How far the clocks of data sets are: the same in every shard.

Partitions of a topic are read at different paces, so a data set's watermark is that of the
partition that is furthest behind: what is in order in its partition is never late. A partition
counts while it brings tuples, and for a while after; one that falls silent holds nobody up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from sde.records.loop import Reached

SILENCE = 10_000  # ms, by the arrival of tuples elsewhere, after which a partition is silent


def later(one: Reached, other: Reached) -> Reached:
    """What both say together."""
    both = dict(one)
    for partition, (time, arrival) in other.items():
        held = both.get(partition, (time, arrival))
        both[partition] = (max(time, held[0]), max(arrival, held[1]))
    return both


class Watermarks:
    def __init__(self) -> None:
        self._times: dict[str, dict[str, int]] = defaultdict(dict)  # by data set and clock
        self._reached: dict[tuple[str, str], Reached] = {}

    def get(self, dataset: str, clock: str) -> int | None:
        return self._times[dataset].get(clock)

    def set(self, dataset: str, clock: str, time: int) -> None:
        """Move a watermark; never back."""
        self._times[dataset][clock] = max(time, self._times[dataset].get(clock, time))

    def after(self, dataset: str, clock: str, news: Reached) -> int:
        """Where the watermark is once `news` of some partitions are known."""
        reached = later(self._reached.get((dataset, clock), {}), news)
        newest = max(arrival for _, arrival in reached.values())
        counted = [
            time
            for partition, (time, arrival) in reached.items()
            if partition in news or newest - arrival <= SILENCE
        ]
        held = self.get(dataset, clock)
        lowest = min(counted)
        return lowest if held is None else max(held, lowest)

    def learn(self, dataset: str, clock: str, news: Reached) -> None:
        held = self._reached.get((dataset, clock), {})
        self._reached[dataset, clock] = later(held, news)

    def __iter__(self) -> Iterator[tuple[str, str, int, Reached]]:
        for dataset, clocks in self._times.items():
            for clock, time in clocks.items():
                yield dataset, clock, time, self._reached.get((dataset, clock), {})
