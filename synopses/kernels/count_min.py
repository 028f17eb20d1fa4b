"""Count-Min inner loops over a bank (slots, depth, width). No checks, no objects."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _column(h1, h2, row, width):
    """Double hashing, then the upper half of the word scaled to the width."""
    h = h1 + np.uint64(row) * h2
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    return np.int64(((h >> np.uint64(32)) * np.uint64(width)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def add(table, total, absolute, slots, keys, weights, sizes, seed):
    """table[slot, row, column] += weight, once per row; `sizes` are the absolute weights."""
    depth, width = table.shape[1], table.shape[2]
    for i in range(slots.size):
        slot = np.uintp(slots[i])
        h1, h2 = keys[i, 0] ^ seed, keys[i, 1] | np.uint64(1)
        total[slot] += weights[i]
        absolute[slot] += sizes[i]
        for row in range(depth):
            table[slot, row, _column(h1, h2, row, width)] += weights[i]


@njit(cache=True, nogil=True)
def raise_to(table, total, slots, keys, weights, seed):
    """Conservative update: every counter of the key becomes at least its estimate + weight."""
    depth, width = table.shape[1], table.shape[2]
    for i in range(slots.size):
        if weights[i] <= 0:
            continue
        slot = slots[i]
        h1, h2 = keys[i, 0] ^ seed, keys[i, 1] | np.uint64(1)
        total[slot] += weights[i]
        least = table[slot, 0, _column(h1, h2, 0, width)]
        for row in range(1, depth):
            least = min(least, table[slot, row, _column(h1, h2, row, width)])
        for row in range(depth):
            column = _column(h1, h2, row, width)
            table[slot, row, column] = max(table[slot, row, column], least + weights[i])


@njit(cache=True, nogil=True)
def cells(table, slot, key, seed, out):
    """The counter of one key in each row."""
    depth, width = table.shape[1], table.shape[2]
    h1, h2 = key[0] ^ seed, key[1] | np.uint64(1)
    for row in range(depth):
        out[row] = table[slot, row, _column(h1, h2, row, width)]
