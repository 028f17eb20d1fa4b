"""Many synopses of one definition, one for each stream: what questions across streams see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synopses.base import Arrays


@dataclass(frozen=True, slots=True)
class Streams:
    """Stream `names[i]` has its synopsis in slot i of `arrays`."""

    names: Sequence[str]
    arrays: Arrays
