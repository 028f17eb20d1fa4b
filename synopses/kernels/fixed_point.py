"""Weights in whole units, and what that loses."""

import math

import numpy as np
from numba import njit

SUBUNITS = 1024  # of a unit, in which rounding is summed up
LARGE_BITS = 20  # magnitudes are summed up in 2^20 units
MOST = 2**61  # where the sums of losses stop: two of them still fit 64 bits
POSITIVE, NEGATIVE, MAGNITUDE = 0, 1, 2  # columns of `losses`
_LARGE = 2.0**LARGE_BITS
_PRECISION = 2.0**-51  # of a float that was multiplied once: 1.1 * 1000 counts as 1100


@njit(cache=True, nogil=True)
def to_units(weights, unit, largest, out):
    """out = weights * unit, rounded to even; whether a weight loses by it or is large.

    Cut first: the product may be beyond every float.
    """
    noted = 0
    for i in range(weights.size):
        product = min(max(weights[i], -largest), largest) * unit
        rounded = np.rint(product)
        out[i] = np.int64(rounded)
        size = abs(product)
        noted |= (abs(product - rounded) > size * _PRECISION) | (size >= _LARGE)
    return noted != 0


@njit(cache=True, nogil=True)
def add_losses(losses, slots, weights, unit, largest, positive_only):
    """Sum up for each slot how far weights are from their units, by sign, and their size."""
    for i in range(slots.size):
        if positive_only and weights[i] <= 0:
            continue
        slot = slots[i]
        product = min(max(weights[i], -largest), largest) * unit
        rounded = np.rint(product)
        size, off = abs(product), abs(product - rounded)
        if off > size * _PRECISION:
            column = POSITIVE if product > 0 else NEGATIVE
            lost = np.int64(math.ceil((off + size * _PRECISION) * SUBUNITS))
            losses[slot, column] = min(losses[slot, column] + lost, MOST)
        large = np.int64(abs(rounded)) >> LARGE_BITS
        losses[slot, MAGNITUDE] = min(losses[slot, MAGNITUDE] + large, MOST)


@njit(cache=True, nogil=True)
def sum_up(places, units, sums, sizes):
    """Sum up the units at each place, and their absolute values. Both wrap as counters do."""
    for i in range(places.size):
        sums[places[i]] += units[i]
        sizes[places[i]] += abs(units[i])


@njit(cache=True, nogil=True)
def merge_losses(losses, slots, rows):
    """Add what the items of each slot lost."""
    for i in range(slots.size):
        for column in range(rows.shape[1]):
            lost = losses[slots[i], column] + rows[i, column]
            losses[slots[i], column] = min(lost, MOST)
