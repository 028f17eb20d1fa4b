"""HyperLogLog's inner loop over a bank (slots, registers). No checks, no objects."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _leading_zeros(word):
    """Zero bits above the highest one, at most 62."""
    zeros = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - shift) == 0:
            zeros += shift
            word <<= np.uint64(shift)
    return min(zeros, 62)


@njit(cache=True, nogil=True)
def add(registers, slots, keys):
    """The register named by the low bits of h1 keeps the most leading zeros of h2, plus one."""
    low = np.uint64(registers.shape[1] - 1)
    for i in range(slots.size):
        register = keys[i, 0] & low
        value = np.uint8(_leading_zeros(keys[i, 1]) + 1)
        if value > registers[slots[i], register]:
            registers[slots[i], register] = value
