"""PCSA's inner loop over a bank (slots, bitmaps of 64 bits). No checks, no objects."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add(words, slots, keys):
    """h1 chooses the bitmap, the lowest one of h2 the bit."""
    bitmaps = np.uint64(words.shape[1])
    top = np.uint64(1) << np.uint64(63)
    for i in range(slots.size):
        bitmap = ((keys[i, 0] >> np.uint64(32)) * bitmaps) >> np.uint64(32)
        h2 = keys[i, 1] | top
        words[slots[i], bitmap] |= h2 & (~h2 + np.uint64(1))
