"""A version of a synopsis that is kept outside the engine."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from sde.records.position import Position
from sde.wire import Definition


class Place(Struct, frozen=True):
    """A request among those of one engine. The engine is "" if it has no name."""

    engine: str
    position: Position

    def is_before(self, other: Place | None) -> bool:
        """Whether the other is not yet carried out when this one is; False for other engines.

        After a crash a batch runs again, and finds files that its own requests left.
        """
        if other is None or not self.engine or self.engine != other.engine:
            return False
        mine, others = self.position, other.position
        return (mine.topic, mine.partition) == (others.topic, others.partition) and mine <= others


class VersionInfo(Struct, frozen=True, kw_only=True):
    """What the file beside the kept states says of a version."""

    uid: str
    version: str
    number: int
    at: int  # when it was taken, ms
    dataset: str
    kind: str
    scope: str | dict[str, str]
    definition: Definition
    since: int  # when the synopsis began
    of: int  # shards that kept a part
    bytes: int = 0
    taken_by: Place | None = None  # versions of earlier times do not say

    @property
    def highest(self) -> int:
        """The number that no later version may have: its own, or the one that is its name."""
        return max(self.number, number_in(self.version))

    def listed(self) -> dict[str, Any]:
        """What `snapshots` replies."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        del fields["definition"], fields["taken_by"]
        shards = fields.pop("of")
        return {**fields, "shards": shards}


def number_in(version: str) -> int:
    """The number that the name of a version is; 0 if it is none."""
    return int(version) if version.isdecimal() and len(version) < 16 else 0


class Removed(Struct, frozen=True, kw_only=True):
    """What stands in the place of a version that was removed, until its files go."""

    version: VersionInfo
    by: Place
    batch: int  # of that engine
    at: int  # ms
