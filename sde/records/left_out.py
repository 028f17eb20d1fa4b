"""Tuples that came for a synopsis and are not in it: what an answer warns of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta, Struct, structs

_Count = Annotated[int, Meta(ge=0)]


class LeftOut(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Counts by reason. `skipped` is of the part of a synopsis that a question is about; the
    others are of all streams and windows that one shard, or site, keeps together. Of `excluded`
    nobody is warned unless nothing was `included`."""

    skipped: _Count = 0  # a field that is read was missing, or of another type
    shed: _Count = 0  # there was no room
    late: _Count = 0  # their window had closed
    future: _Count = 0  # their time was ahead of their arrival by more than `skew`
    untimed: _Count = 0  # they had no time
    missed: _Count = 0  # the plug-in was quarantined when they came
    excluded: _Count = 0  # `where` was not true of them
    included: _Count = 0  # it was true of these
    still_counted: _Count = 0  # rows that were deleted, and cannot be taken away


def total(counts: Iterable[LeftOut]) -> LeftOut:
    """
    >>> total([LeftOut(late=2), LeftOut(late=1, shed=4)]) == LeftOut(late=3, shed=4)
    True
    """
    each = [structs.astuple(count) for count in counts]
    names = LeftOut.__struct_fields__
    return LeftOut(**dict(zip(names, map(sum, zip(*each, strict=True)), strict=False)))
