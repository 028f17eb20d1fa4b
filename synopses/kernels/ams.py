"""Fast-AGMS inner loops over a bank (slots, depth, width). No checks, no objects."""

import numpy as np
from numba import njit

_BLOCK = 64


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
    """table[slot, row, column] += sign * weight, once per row.

    Block by block, first the places and then the table: so many of its cells are waited for at
    once where a bank is larger than the cache.
    """
    depth, width = table.shape[1], table.shape[2]
    flat = table.reshape(-1)
    places = np.empty(_BLOCK * depth, np.uint64)
    signed = np.empty(_BLOCK * depth, np.int64)
    for start in range(0, slots.size, _BLOCK):
        n = np.uintp(0)
        for i in range(start, min(start + _BLOCK, slots.size)):
            h1, h2 = keys[i, 0] ^ seed, keys[i, 1] | np.uint64(1)
            weight = weights[i]
            row_start = np.uint64(slots[i]) * np.uint64(depth * width)
            for row in range(depth):
                column, positive = _cell(h1, h2, row, width)
                places[n] = row_start + column
                signed[n] = weight if positive else -weight
                row_start += np.uint64(width)
                n += np.uintp(1)
        for at in range(n):
            flat[places[at]] += signed[at]


@njit(cache=True, nogil=True)
def cells(table, slot, key, seed, out):
    """The counter of one key in each row, with the key's sign taken off."""
    depth, width = table.shape[1], table.shape[2]
    h1, h2 = key[0] ^ seed, key[1] | np.uint64(1)
    for row in range(depth):
        column, positive = _cell(h1, h2, row, width)
        cell = table[slot, row, column]
        out[row] = cell if positive else -cell
