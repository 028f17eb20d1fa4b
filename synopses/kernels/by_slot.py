"""A counting sort of items by slot."""

from numba import njit


# With its types, so that it is compiled when it is imported: only large batches get here.
@njit("void(int32[::1], int64[::1], int64[::1])", cache=True, nogil=True)
def order_by_slot(slots, starts, order):
    """Items of slot 0 as they came, then of slot 1, and so on; `starts`: where each slot's begin,
    which is used up."""
    for i in range(slots.size):
        order[starts[slots[i]]] = i
        starts[slots[i]] += 1
