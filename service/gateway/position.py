"""How far an answer has to be so that whoever wrote sees it: what `Sde-Position` tells.

    batch=17;sde-data:0=120:3=45     batch 17, and all before these offsets of two partitions

The text is for the gateway alone. It comes back from clients, so anything may come.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

POSITION, AT_LEAST = "Sde-Position", "Sde-At-Least"  # headers of responses, of requests
Offsets = Mapping[tuple[str, int], int]  # the offset behind the last message, by topic, partition
LONGEST = 16 << 10  # characters: of a thousand partitions, about
_PART = re.compile(r"batch=[0-9]{1,18}|[A-Za-z0-9._-]{1,249}(?::[0-9]{1,9}=[0-9]{1,18})+")
_BATCH = "batch="


@dataclass(frozen=True, slots=True)
class Position:
    """A batch that has to be over, and offsets that have to be read."""

    batch: int = -1
    offsets: Offsets = field(default_factory=lambda: MappingProxyType({}))

    def __bool__(self) -> bool:
        return self.batch >= 0 or bool(self.offsets)

    def and_also(self, other: Position) -> Position:
        """The position that contains both."""
        offsets = dict(self.offsets)
        for place, offset in other.offsets.items():
            offsets[place] = max(offset, offsets.get(place, 0))
        return Position(max(self.batch, other.batch), offsets)

    @property
    def text(self) -> str:
        """
        >>> Position(17, {("sde-data", 3): 45, ("sde-data", 0): 120}).text
        'batch=17;sde-data:0=120:3=45'
        """
        by_topic: dict[str, str] = {}
        for (topic, partition), offset in sorted(self.offsets.items()):
            by_topic[topic] = f"{by_topic.get(topic, topic)}:{partition}={offset}"
        batch = [f"{_BATCH}{self.batch}"] if self.batch >= 0 else []
        return ";".join([*batch, *by_topic.values()])


NOWHERE = Position()


def read_positions(texts: Iterable[str]) -> Position:
    """What contains all of these positions; each text holds some, with commas between.

    ValueError if one is no position, or they are too long together.

    >>> read_positions(["batch=17, sde-data:0=120", "batch=9"]).text
    'batch=17;sde-data:0=120'
    """
    whole = ",".join(texts)
    if len(whole) > LONGEST:
        raise ValueError(f"{len(whole):,} characters: expected at most {LONGEST:,}")
    batch = -1
    offsets: dict[tuple[str, int], int] = {}
    for part in (each for text in whole.split(",") for each in text.strip().split(";")):
        if not part:
            continue
        if not _PART.fullmatch(part):
            raise ValueError(f"{part!r:.80}: expected what `Sde-Position` said")
        if part.startswith(_BATCH):
            batch = max(batch, int(part.removeprefix(_BATCH)))
            continue
        topic, *said = part.split(":")
        for pair in said:
            partition, _, offset = pair.partition("=")
            place = topic, int(partition)
            offsets[place] = max(int(offset), offsets.get(place, 0))
    return Position(batch, offsets)
