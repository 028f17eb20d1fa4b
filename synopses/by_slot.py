"""Items of a large bank, put in the order of their slots before they are added.

Items of many streams come in turn, so each finds its synopsis in slow memory. In the order of
slots a synopsis comes into the cache once and stays until all its items are added. Items of one
slot keep their order, so the state is the same to the bit. It pays for kinds that touch many
places of a synopsis for each item.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synopses.items import Items
from synopses.kernels import by_slot as kernel

_CACHE = 2**21  # bytes: banks below are in the cache anyway
_ITEMS_A_SLOT = 16  # that get some; with fewer, sorting takes longer than it saves (measured)


def by_slot(memory: int, slots: NDArray[np.int32], items: Items) -> tuple[NDArray[np.int32], Items]:
    """Slots and items in the order of slots, where that is a gain; `memory`: of one synopsis."""
    if (int(slots.max(initial=-1)) + 1) * memory < _CACHE:  # the usual case, and cheaply told
        return slots, items
    counts = np.bincount(slots)
    if len(slots) < _ITEMS_A_SLOT * np.count_nonzero(counts):
        return slots, items
    order = np.empty(len(slots), np.int64)
    kernel.order_by_slot(slots, np.cumsum(counts) - counts, order)
    return slots.take(order), items.take(order)
