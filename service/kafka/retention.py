"""What to do with offsets that retention deleted before they were read: stop, or go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from service.kafka.errors import OffsetsLost

OnLost = Literal["stop", "continue"]


def checked_on_lost(value: str, name: str = "on_lost") -> OnLost:
    for allowed in get_args(OnLost):
        if value == allowed:
            return value  # type: ignore[return-value]
    raise ValueError(f"{name}={value!r}: expected 'stop' or 'continue'")


@dataclass(frozen=True)
class LostRange:
    """Offsets first <= offset < resumed of a partition were deleted before they were read."""

    topic: str
    partition: int
    first: int
    resumed: int

    @property
    def count(self) -> int:
        return self.resumed - self.first


def lost_part(
    topic: str, partition: int, start: int, end: int, earliest: int, on_lost: OnLost
) -> LostRange | None:
    """What of the range [start, end) is gone, if going on without it is allowed."""
    if earliest <= start or start >= end:
        return None
    if on_lost == "stop":
        raise OffsetsLost(topic, partition, start, earliest)
    return LostRange(topic, partition, start, min(earliest, end))
