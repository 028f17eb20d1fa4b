"""A counting sort of items by slot."""

from numba import njit


@njit(cache=True, nogil=True)
def order_by_slot(slots, starts, order):
    """Items of the first slot in the order they came, then of the next. `starts`: slots + 1 zeros."""
    for i in range(slots.size):
        starts[slots[i] + 1] += 1
    for slot in range(starts.size - 1):
        starts[slot + 1] += starts[slot]
    for i in range(slots.size):
        order[starts[slots[i]]] = i
        starts[slots[i]] += 1
