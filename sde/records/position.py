"""Where a message stood."""

from __future__ import annotations

from msgspec import Struct


class Position(Struct, frozen=True, order=True):
    """Sorts as its topic does; as text it is the id of a request that has none."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        """
        >>> str(Position("requests", 0, 17))
        'requests-0-17'
        """
        return f"{self.topic}-{self.partition}-{self.offset}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """The position a text stands for, as state of earlier versions has it.

        >>> Position.parse("sde-requests-0-17")
        Position(topic='sde-requests', partition=0, offset=17)
        """
        topic, _, rest = text.rpartition("-")
        topic, _, partition = topic.rpartition("-")
        if not (partition.isdigit() and rest.isdigit()):
            return cls(text, 0, 0)
        return cls(topic, int(partition), int(rest))
