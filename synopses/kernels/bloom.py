"""Bloom's inner loops over a bank (slots, words of 64 bits). No checks, no objects."""

import numpy as np
from numba import njit

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True, inline="always")
def _two_bits(h1, h2, pair, bits):
    """Double hashing, mixed; each half of the word is scaled to the number of bits."""
    h = h1 + np.uint64(pair) * h2
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    return ((h >> _HALF) * bits) >> _HALF, ((h & _LOW) * bits) >> _HALF


@njit(cache=True, nogil=True)
def add(words, slots, keys, hashes):
    """Set the bits of each key."""
    bits = np.uint64(words.shape[1] * 64)
    for i in range(slots.size):
        slot = np.uintp(slots[i])
        h1, h2 = keys[i, 0], keys[i, 1] | np.uint64(1)
        for pair in range(hashes >> 1):
            one, two = _two_bits(h1, h2, pair, bits)
            words[slot, one >> np.uint64(6)] |= np.uint64(1) << (one & np.uint64(63))
            words[slot, two >> np.uint64(6)] |= np.uint64(1) << (two & np.uint64(63))
        if hashes & 1:
            one, _ = _two_bits(h1, h2, hashes >> 1, bits)
            words[slot, one >> np.uint64(6)] |= np.uint64(1) << (one & np.uint64(63))


@njit(cache=True, nogil=True)
def contains(words, slot, key, hashes):
    """Are all bits of a key set?"""
    bits = np.uint64(words.shape[1] * 64)
    h1, h2 = key[0], key[1] | np.uint64(1)
    for number in range(hashes):
        one, two = _two_bits(h1, h2, number >> 1, bits)
        bit = two if number & 1 else one
        if (words[slot, bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1) == 0:
            return False
    return True
