"""Merged panes, kept so that a window that slides on merges a few of them, not all.

Panes are the leaves of a binary tree over time: node i of level l covers panes i·2^l to
(i+1)·2^l. A range is the merge of O(log n) nodes; when it moves by one pane, all but O(log n) of
the nodes serve again, whatever the kind (taking away what left the window would serve only kinds
whose states subtract). A node is good while its panes are the same and have the same tuples.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sde.banks.bank import Bank
from synopses import Synopsis

_MOST_BYTES = 64 << 20  # of merged panes a process keeps

Key = tuple[str, int, int, int]
Stamp = tuple[bytes, bytes]


class PaneSums:
    """A cache of merged panes, of this process only; what is lost with it is time.

    A node is kept with the stamps and tuple counts of the slots it was merged from.
    """

    def __init__(self) -> None:
        self._nodes: OrderedDict[Key, tuple[Stamp, Synopsis]] = OrderedDict()
        self._bytes = 0

    def merged(
        self, bank: Bank, whose: tuple[str, int], first: int, slots: NDArray[np.int32]
    ) -> Synopsis | None:
        """The merge of panes `first`, `first + 1`, ... that lie in `slots` (-1: none there).

        `whose` names the layer and the stream. The result may be a view of a slot or belong to the
        cache: the caller must not change it.
        """
        parts = [
            part
            for level, index in _nodes(first, first + len(slots))
            if (part := self._node(bank, whose, level, index, first, slots)) is not None
        ]
        if len(parts) <= 1:
            return parts[0] if parts else None
        return merge_all(parts)

    def _node(
        self,
        bank: Bank,
        whose: tuple[str, int],
        level: int,
        index: int,
        first: int,
        slots: NDArray[np.int32],
    ) -> Synopsis | None:
        """The merge of the panes of one node, from the cache or from its two halves."""
        start = (index << level) - first
        own = slots[start : start + (1 << level)]
        filled = own[own >= 0]
        if not len(filled):
            return None
        if len(filled) == 1:
            return bank.at(int(filled[0]))
        key = (*whose, level, index)
        stamp = (bank.stamps[filled].tobytes(), bank.tuples[filled].tobytes())
        known = self._nodes.get(key)
        if known is not None and known[0] == stamp:
            self._nodes.move_to_end(key)
            return known[1]
        left = self._node(bank, whose, level - 1, 2 * index, first, slots)
        right = self._node(bank, whose, level - 1, 2 * index + 1, first, slots)
        if left is None or right is None:
            return left or right
        total = merge_all([left, right])
        self._keep(key, stamp, total)
        return total

    def _keep(self, key: Key, stamp: Stamp, total: Synopsis) -> None:
        if key in self._nodes:
            self._bytes -= self._nodes.pop(key)[1].memory
        self._nodes[key] = (stamp, total)
        self._bytes += total.memory
        while self._bytes > _MOST_BYTES:
            self._bytes -= self._nodes.popitem(last=False)[1][1].memory


def merge_all(parts: list[Synopsis]) -> Synopsis:
    """A new synopsis of all that the parts hold."""
    total = parts[0].copy()
    for part in parts[1:]:
        total.merge(part)
    return total


def _nodes(start: int, end: int) -> Iterator[tuple[int, int]]:
    """The fewest nodes (level, index) that cover start..end.

    >>> list(_nodes(3, 9))
    [(0, 3), (2, 1), (0, 8)]
    """
    while start < end:
        level = (start & -start).bit_length() - 1 if start else 62
        while start + (1 << level) > end:
            level -= 1
        yield level, start >> level
        start += 1 << level
