"""Exact sums of values, squares and cubes over a bank. No checks, no objects.

A float is a whole number of 2^-1074. Sums are arrays of digits of 28 bits; digits are summed
in 64 bits and never carried, so a sum of arrays is an array of sums.
"""

import math

import numpy as np
from numba import njit

SMALLEST_EXPONENT = 1074
DIGIT_BITS = 28
DIGITS = 76  # 28-bit digits that cover 2^-1074 to 2^1024
_MASK = np.int64(2**28 - 1)


@njit(cache=True, nogil=True)
def _multiply(left, n_left, right, n_right, out):
    """out = left * right, digit by digit and carried; n_left + n_right digits."""
    for k in range(n_left + n_right):
        out[k] = 0
    for i in range(n_left):
        for j in range(n_right):
            out[i + j] += left[i] * right[j]
    for k in range(n_left + n_right - 1):
        out[k + 1] += out[k] >> DIGIT_BITS
        out[k] &= _MASK


@njit(cache=True, nogil=True)
def _ordered(word):
    """The bits of a float as a number that is ordered as the floats are, and never 0."""
    top = np.uint64(1) << np.uint64(63)
    return ~word if word & top else word ^ top


@njit(cache=True, nogil=True)
def add(count, sums, squares, cubes, extremes, slots, values, words):
    """`words` are the bits of `values`. An extreme is kept as the largest of ordered bits."""
    digits = np.zeros(3, np.int64)
    square = np.zeros(6, np.int64)
    cube = np.zeros(9, np.int64)
    for i in range(slots.size):
        slot = slots[i]
        count[slot] += 1
        ordered = _ordered(words[i])
        extremes[slot, 0] = max(extremes[slot, 0], ~ordered)
        extremes[slot, 1] = max(extremes[slot, 1], ordered)
        fraction, exponent = math.frexp(abs(values[i]))
        whole = np.int64(fraction * 9007199254740992.0)  # 2^53
        shift = exponent - 53 + SMALLEST_EXPONENT
        if shift < 0:  # a subnormal number has so many zeros at its end
            whole >>= -shift
            shift = 0
        place = shift // DIGIT_BITS
        shift -= place * DIGIT_BITS
        low = (whole & _MASK) << shift
        high = ((whole >> DIGIT_BITS) << shift) + (low >> DIGIT_BITS)
        digits[0] = low & _MASK
        digits[1] = high & _MASK
        digits[2] = high >> DIGIT_BITS
        _multiply(digits, 3, digits, 3, square)
        _multiply(square, 6, digits, 3, cube)
        sign = -1 if values[i] < 0 else 1
        for k in range(3):
            sums[slot, place + k] += sign * digits[k]
        for k in range(6):
            squares[slot, 2 * place + k] += square[k]
        for k in range(9):
            cubes[slot, 3 * place + k] += sign * cube[k]
