"""Fast-AGMS inner loops over a bank (slots, depth, width). No checks, no objects."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _mix(h1, h2, row):
    """Double hashing and MurmurHash3's finaliser: all 64 bits are as good as random."""
    h = h1 + np.uint64(row) * h2
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


@njit(cache=True, nogil=True)
def _column(h, width):
    """The upper half of the word scaled to the width; the lowest bit is left for the sign."""
    return np.int64(((h >> np.uint64(32)) * np.uint64(width)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def add(table, slots, keys, weights, seed):
    """table[slot, row, column] += sign * weight, once per row."""
    depth, width = table.shape[1], table.shape[2]
    for i in range(slots.size):
        slot = slots[i]
        h1, h2 = keys[i, 0] ^ seed, keys[i, 1] | np.uint64(1)
        for row in range(depth):
            h = _mix(h1, h2, row)
            signed = weights[i] if h & np.uint64(1) else -weights[i]
            table[slot, row, _column(h, width)] += signed


@njit(cache=True, nogil=True)
def cells(table, slot, key, seed, out):
    """The counter of one key in each row, with the key's sign taken off."""
    depth, width = table.shape[1], table.shape[2]
    h1, h2 = key[0] ^ seed, key[1] | np.uint64(1)
    for row in range(depth):
        h = _mix(h1, h2, row)
        cell = table[slot, row, _column(h, width)]
        out[row] = cell if h & np.uint64(1) else -cell
