"""Open addressing from 64-bit hashes to slots, for `sde.banks.slot_table`.

Place i holds hashes[i] and marks[i] = slot + 1; a mark of 0 is a free place, -1 a removed entry.
The number of places is a power of two.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _place(hashes, marks, wanted):
    """Where `wanted` stands, or where it would be put."""
    mask = np.uint64(hashes.size - 1)
    at = (wanted ^ (wanted >> np.uint64(29))) & mask
    free = np.int64(-1)
    while marks[at] != 0:
        if marks[at] > 0 and hashes[at] == wanted:
            return np.int64(at)
        if marks[at] < 0 and free < 0:
            free = np.int64(at)
        at = (at + np.uint64(1)) & mask
    return free if free >= 0 else np.int64(at)


@njit(cache=True, nogil=True)
def find(hashes, marks, wanted, out):
    """out[i] = slot of wanted[i], or -1."""
    for i in range(wanted.size):
        at = _place(hashes, marks, wanted[i])
        out[i] = marks[at] - 1 if marks[at] > 0 else -1


@njit(cache=True, nogil=True)
def insert(hashes, marks, new, slots):
    """new[i] -> slots[i]; there must be room."""
    for i in range(new.size):
        at = _place(hashes, marks, new[i])
        hashes[at] = new[i]
        marks[at] = slots[i] + 1


@njit(cache=True, nogil=True)
def remove(hashes, marks, gone):
    """Forget hashes; their places are marked so that later ones are still found. How many were."""
    removed = 0
    for i in range(gone.size):
        at = _place(hashes, marks, gone[i])
        if marks[at] > 0:
            marks[at] = -1
            removed += 1
    return removed


@njit(cache=True, nogil=True)
def count(slots, counts):
    """counts[slots[i]] += 1"""
    for i in range(slots.size):
        counts[slots[i]] += 1
