"""Numbers as text, many at once: the digits a key's hash is made of."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _put_digits(out, at, number, decimals):
    """Write number / 10**decimals at `out[at:]`; the place after the last character."""
    if number < 0:
        out[at] = 45
        at += 1
    # np.int64's smallest value has no positive twin, its uint64 twin has.
    left = np.uint64(-number) if number < 0 else np.uint64(number)
    digits = 1
    rest = left // np.uint64(10)
    while rest > 0 or digits <= decimals:
        digits += 1
        rest //= np.uint64(10)
    end = at + digits + (1 if decimals > 0 else 0)
    place = end
    for i in range(digits):
        if decimals > 0 and i == decimals:
            place -= 1
            out[place] = 46
        place -= 1
        out[place] = 48 + np.uint8(left % np.uint64(10))
        left //= np.uint64(10)
    return end


@njit(cache=True, nogil=True)
def write_integers(numbers, out, offsets):
    """Decimal digits of int64 numbers, one after the other; `out` has 20 bytes for each."""
    at = 0
    for i in range(numbers.size):
        at = _put_digits(out, at, numbers[i], 0)
        offsets[i + 1] = at


@njit(cache=True, nogil=True)
def write_decimals(numbers, out, offsets):
    """Shortest text of float64 numbers where at most 9 decimals and 15 digits tell it.

    Stops at the first number that needs more and returns its index (else the count).
    """
    at = offsets[0]
    for i in range(numbers.size):
        x = numbers[i]
        scale = 1.0
        decimals = -1
        whole = np.int64(0)
        if abs(x) < 1e15 and (x == 0.0 or abs(x) >= 1e-4):
            for d in range(10):
                y = np.rint(x * scale)
                if abs(y) >= 1e15:
                    break
                if y / scale == x:
                    decimals = d
                    whole = np.int64(y)
                    break
                scale *= 10.0
        if decimals < 0:
            return i
        at = _put_digits(out, at, whole, decimals)
        offsets[i + 1] = at
    return numbers.size
