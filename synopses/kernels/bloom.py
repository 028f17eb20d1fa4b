"""Bloom's inner loops over a bank (slots, words of 64 bits). No checks, no objects."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, inline="always")
def _bit(h1, h2, number, bits):
    """Double hashing, then the upper half of the word scaled to the number of bits."""
    h = h1 + np.uint64(number) * h2
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    return ((h >> np.uint64(32)) * bits) >> np.uint64(32)


@njit(cache=True, nogil=True)
def add(words, slots, keys, hashes):
    """Set the bits of each key."""
    bits = np.uint64(words.shape[1] * 64)
    for i in range(slots.size):
        slot = np.uintp(slots[i])
        h1, h2 = keys[i, 0], keys[i, 1] | np.uint64(1)
        for number in range(hashes):
            bit = _bit(h1, h2, number, bits)
            words[slot, bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))


@njit(cache=True, nogil=True)
def contains(words, slot, key, hashes):
    """Are all bits of a key set?"""
    bits = np.uint64(words.shape[1] * 64)
    h1, h2 = key[0], key[1] | np.uint64(1)
    for number in range(hashes):
        bit = _bit(h1, h2, number, bits)
        if (words[slot, bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1) == 0:
            return False
    return True
