"""The messages of a batch that died, in parts that get smaller until one message dies alone.

No Spark and no Kafka here: a walk says where the next part ends, and is told how far the engine got
or that the part died.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sde.records.position import Position
from service.kafka.offsets import Offsets

PARTS = 16  # of a part that died: a death costs about as much as a dozen parts that pass


class Range(NamedTuple):
    """Offsets of one topic partition, from `start` to before `end`."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        return max(0, self.end - self.start)


class Walk:
    """Goes through ranges in their order, as if they were one long range.

    A part that dies is tried again in sixteen parts; when it is through, or its one message is
    passed over, parts grow again sixteenfold. So a message that kills costs five deaths in a batch
    of a million, and messages like it that follow at once cost one each.

    >>> walk = Walk([Range("t", 0, 100, 132), Range("u", 0, 7, 8)])  # its 33 messages died together
    >>> walk.ends()
    {('t', 0): 103, ('u', 0): 7}
    >>> walk.died(), walk.ends()  # one of the first three
    (None, {('t', 0): 101, ('u', 0): 7})
    >>> walk.died()
    Position(topic='t', partition=0, offset=100)
    """

    def __init__(self, ranges: Sequence[Range]) -> None:
        self._ranges = [one for one in ranges if one.size]
        self._total = sum(one.size for one in self._ranges)
        self._at = 0  # messages behind us
        self._suspect = self._total  # a message before this one kills, if it does so alone
        self._size = self._part_of(self._total)

    @property
    def finished(self) -> bool:
        return self._at >= self._total

    @property
    def next(self) -> Position:
        """The first message of the part."""
        left = self._at
        for topic, partition, start, end in self._ranges:
            if left < end - start:
                return Position(topic, partition, start + left)
            left -= end - start
        raise IndexError("the walk is finished")

    def ends(self) -> Offsets:
        """Where the part ends, in every partition of the walk."""
        left = self._end
        ends: Offsets = {}
        for topic, partition, start, end in self._ranges:
            taken = min(left, end - start)
            if taken or (topic, partition) not in ends:
                ends[topic, partition] = start + taken
            left -= taken
        return ends

    def reached(self, offsets: Offsets) -> int:
        """The engine has read up to these offsets: how many messages further that is."""
        before = self._at
        self._at = sum(
            min(max(0, offsets.get((topic, partition), 0) - start), end - start)
            for topic, partition, start, end in self._ranges
        )
        if self._at >= self._suspect and self._at > before:
            self._size *= PARTS
        return self._at - before

    def died(self) -> Position | None:
        """The part died: its message, if it has only one; otherwise smaller parts come next."""
        length = self._end - self._at
        self._suspect = self._end
        self._size = self._part_of(length)
        return self.next if length == 1 else None

    @property
    def _end(self) -> int:
        limit = self._suspect if self._at < self._suspect else self._total
        return min(self._at + self._size, limit)

    @staticmethod
    def _part_of(length: int) -> int:
        return max(1, -(-length // PARTS))
