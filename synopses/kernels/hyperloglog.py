"""HyperLogLog's inner loop over a bank (slots, registers). No checks, no objects."""

import numpy as np
from numba import njit

_BLOCK = 512
_MOST_ZEROS = np.uint64(62)


@njit(cache=True, nogil=True, inline="always")
def _leading_zeros(word):
    """Zero bits above the highest one, at most 62: told by the exponent of the word as a float.

    The bit below the highest one is cleared, so that the float is not rounded up.
    """
    rounded_down = (word & ~(word >> np.uint64(1))) | np.uint64(1)
    exponent = np.float64(rounded_down).view(np.uint64) >> np.uint64(52)
    return min(np.uint64(1023 + 63) - exponent, _MOST_ZEROS)


@njit(cache=True, nogil=True)
def add(registers, slots, keys):
    """The register named by the low bits of h1 keeps the most leading zeros of h2, plus one.

    Block by block, first what to write and then writing it: so many registers are waited for at
    once where a bank is larger than the cache.
    """
    count = np.uint64(registers.shape[1])
    flat = registers.reshape(-1)
    places = np.empty(_BLOCK, np.uint64)
    values = np.empty(_BLOCK, np.uint8)
    for start in range(0, slots.size, _BLOCK):
        size = min(_BLOCK, slots.size - start)
        for i in range(size):
            h1, h2 = keys[start + i, 0], keys[start + i, 1]
            places[i] = np.uint64(slots[start + i]) * count + (h1 & (count - np.uint64(1)))
            values[i] = _leading_zeros(h2) + np.uint64(1)
        for i in range(size):
            flat[places[i]] = max(flat[places[i]], values[i])
