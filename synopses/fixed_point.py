"""Weights as whole units: sums of whole numbers do not depend on the order of adding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synopses.kernels import fixed_point as kernel

_LARGEST = float(2**53)


def to_units(weights: NDArray[np.float64], decimals: int) -> NDArray[np.int64]:
    """Weights in units of 10^-decimals, rounded; beyond 2^53 units they are cut to that.

    >>> to_units(np.array([1.0, 0.1254]), 3).tolist()
    [1000, 125]
    """
    unit = 10.0**decimals
    out = np.empty(len(weights), np.int64)
    kernel.to_units(weights, unit, _LARGEST / unit, out)
    return out
