"""Offsets of many partitions, and how much of what is there one batch admits. No Kafka here."""

from __future__ import annotations

from collections.abc import Mapping

Key = tuple[str, int]  # topic, partition
Offsets = dict[Key, int]
# Under this key offsets have the version of the sources that the batch is planned with, if any.
SOURCES: Key = ("", 0)
OffsetsJson = dict[str, dict[str, int]]  # {"topic": {"0": 123}}: what Spark's checkpoint keeps


def to_json(offsets: Mapping[Key, int]) -> OffsetsJson:
    """In one fixed order: Spark compares offsets as text."""
    out: OffsetsJson = {}
    for topic, partition in sorted(offsets):
        out.setdefault(topic, {})[str(partition)] = offsets[topic, partition]
    return out


def from_json(offsets: OffsetsJson) -> Offsets:
    return {
        (topic, int(partition)): offset
        for topic, partitions in offsets.items()
        for partition, offset in partitions.items()
    }


def of_logs(offsets: Offsets) -> Offsets:
    """Without what is no offset of a partition."""
    return {key: offset for key, offset in offsets.items() if key != SOURCES}


def admit(start: Offsets, ends: Offsets, budget: int | None) -> Offsets:
    """Ends of the next batch: about `budget` offsets, shared in proportion to what waits.

    Every partition with something to read moves by at least one offset, so none starves however
    small the budget; none moves beyond its end or back. `ends` names the partitions to move.

    >>> admit({("t", 0): 0, ("t", 1): 10}, {("t", 0): 300, ("t", 1): 110}, 100)
    {('t', 0): 75, ('t', 1): 35}
    """
    waiting = {key: max(0, end - start[key]) for key, end in ends.items()}
    total = sum(waiting.values())
    if budget is None or total <= budget:
        grants = waiting
    else:
        grants = {key: _share(n, budget, total) for key, n in waiting.items()}
        _hand_out(budget - sum(grants.values()), grants, waiting)
    return {**start, **{key: start[key] + grant for key, grant in grants.items()}}


def _share(waiting: int, budget: int, total: int) -> int:
    return min(waiting, max(1, waiting * budget // total)) if waiting else 0


def _hand_out(left: int, grants: Offsets, waiting: Offsets) -> None:
    """What rounding left over goes, one each, to partitions that have more."""
    for key in sorted(grants):
        if left <= 0:
            return
        if grants[key] < waiting[key]:
            grants[key] += 1
            left -= 1
