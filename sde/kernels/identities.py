"""Identities of records: a 64-bit mix of where a record stands."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _mix(x):
    """The finaliser of splitmix64: a bijection of 64-bit words."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def identities(source, base, offsets, lines, out):
    """out[i] from the hash of the source, base + offsets[i] and lines[i] (no lines: all 0)."""
    for i in range(offsets.size):
        message = _mix(source ^ _mix(np.uint64(base) + np.uint64(offsets[i])))
        line = np.uint64(lines[i]) if lines.size else np.uint64(0)
        out[i] = _mix(message + line * np.uint64(0x9E3779B97F4A7C15))
