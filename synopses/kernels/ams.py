"""Fast-AGMS inner loops over a bank (slots, depth, width). No checks, no objects."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, inline="always")
def _cell(h1, h2, row, width):
    """Double hashing, mixed: the upper half of the word is the column, a bit below it the sign."""
    h = h1 + np.uint64(row) * h2
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    column = ((h >> np.uint64(32)) * np.uint64(width)) >> np.uint64(32)
    return column, (h >> np.uint64(31)) & np.uint64(1) == 1


@njit(cache=True, nogil=True)
def add(table, slots, keys, weights, seed):
    """table[slot, row, column] += sign * weight, once per row."""
    depth, width = table.shape[1], table.shape[2]
    for i in range(slots.size):
        slot = np.uintp(slots[i])
        h1, h2 = keys[i, 0] ^ seed, keys[i, 1] | np.uint64(1)
        weight = weights[i]
        for row in range(depth):
            column, positive = _cell(h1, h2, row, width)
            table[slot, row, column] += weight if positive else -weight


@njit(cache=True, nogil=True)
def cells(table, slot, key, seed, out):
    """The counter of one key in each row, with the key's sign taken off."""
    depth, width = table.shape[1], table.shape[2]
    h1, h2 = key[0] ^ seed, key[1] | np.uint64(1)
    for row in range(depth):
        column, positive = _cell(h1, h2, row, width)
        cell = table[slot, row, column]
        out[row] = cell if positive else -cell
