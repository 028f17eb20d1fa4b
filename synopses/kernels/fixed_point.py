"""Weights in whole units, in one pass."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def to_units(weights, unit, largest, out):
    """out = weights * unit, rounded to even. Cut first: the product may be beyond every float."""
    for i in range(weights.size):
        out[i] = np.int64(np.rint(min(max(weights[i], -largest), largest) * unit))
