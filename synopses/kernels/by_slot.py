"""A counting sort of items by slot."""

from numba import njit


@njit(cache=True, nogil=True)
def order_by_slot(slots, starts, order):
    """Items of slot 0 as they came, then of slot 1, and so on; `starts`: where each slot's begin,
    which is used up."""
    for i in range(slots.size):
        order[starts[slots[i]]] = i
        starts[slots[i]] += 1
