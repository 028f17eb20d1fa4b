"""Numbers of JSON, read eight digits at a time."""

import numpy as np
from numba import njit

from sde.kernels.compiling import kernel, load_byte, load_word
from sde.kernels.json_text import ONES, zero_bits_below
from sde.kernels.utf8 import HIGH_BITS

# Types of a value, and of what is no value.
NOTHING, INTEGER, DECIMAL, TEXT, LONG_DECIMAL, BAD = 0, 1, 2, 3, 4, 5

_MINUS, _PLUS, _POINT, _ZERO, _NINE, _E = 45, 43, 46, 48, 57, 101
_POWERS = np.array([10.0**i for i in range(23)])  # all of them exact
_WHOLE_POWERS = np.array([10**i for i in range(9)], np.uint64)
_LARGEST_EXACT = np.uint64(2**53)
_INT64_MAX = np.uint64(2**63 - 1)
_ZEROS = ONES * np.uint64(_ZERO)
_TO_HIGH_BIT = ONES * np.uint64(0x80 - 10)


@njit(inline="always")
def _leading_digits(word):
    """How many of the eight bytes, from the first one on, are digits."""
    # A digit is 0 to 9 without its 0x30; what is more gets its high bit set. A carry may set
    # that of higher bytes wrongly, never of lower ones.
    digits = word ^ _ZEROS
    others = ((digits + _TO_HIGH_BIT) | digits) & HIGH_BITS
    return zero_bits_below(others) >> 3 if others else 8


@njit(inline="always")
def _number_of_eight(word):
    """Eight digits, the first one lowest: neighbours are put together, then pairs, then fours."""
    word -= np.uint64(0x3030303030303030)
    word = (word * np.uint64(10) + (word >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    word = (word * np.uint64(100) + (word >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (word * np.uint64(10_000) + (word >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


@njit(inline="always")
def _digits(buffer, p, end, mantissa):
    """(place after the digits that start here, the number they make behind those before)."""
    while p + 8 <= buffer.size:
        word = load_word(buffer, p)
        count = min(_leading_digits(word), end - p)
        if count < 8:
            if count > 0:
                # Zeros in front make eight digits of them.
                unused = np.uint64(64 - 8 * count)
                word = (word << unused) | (_ZEROS >> (np.uint64(64) - unused))
                mantissa = mantissa * _WHOLE_POWERS[count] + _number_of_eight(word)
            return p + count, mantissa
        mantissa = mantissa * _WHOLE_POWERS[8] + _number_of_eight(word)
        p += 8
    while p < end:
        digit = load_byte(buffer, p) - _ZERO
        if digit < 0 or digit > 9:
            break
        mantissa = mantissa * np.uint64(10) + np.uint64(digit)
        p += 1
    return p, mantissa


@kernel
def _exponent(buffer, p, end):
    """(place after the exponent, its value) behind an `e`; the place is -1 if there is none."""
    down = p < end and load_byte(buffer, p) == _MINUS
    if p < end and (load_byte(buffer, p) == _MINUS or load_byte(buffer, p) == _PLUS):
        p += 1
    first = p
    exponent = 0
    while p < end and _ZERO <= load_byte(buffer, p) <= _NINE:
        exponent = min(exponent * 10 + load_byte(buffer, p) - _ZERO, 10_000)
        p += 1
    return -1 if p == first else p, -exponent if down else exponent


@njit(inline="always")
def number_at(buffer, start, end):
    """(type, place after it, integer, float) of the number that starts here."""
    p = start
    negative = load_byte(buffer, p) == _MINUS
    if negative:
        p += 1
    first = p
    p, mantissa = _digits(buffer, p, end, np.uint64(0))
    digits = p - first
    if digits == 0 or (digits > 1 and load_byte(buffer, first) == _ZERO):
        return BAD, p, 0, 0.0
    follows = load_byte(buffer, p) if p < end else 0
    if follows != _POINT and follows | 32 != _E:
        if digits > 19 or mantissa > _INT64_MAX:
            return BAD, p, 0, 0.0
        integer = np.int64(mantissa)
        return INTEGER, p, -integer if negative else integer, 0.0
    decimals = 0
    if follows == _POINT:
        point = p + 1
        p, mantissa = _digits(buffer, point, end, mantissa)
        decimals = p - point
        if decimals == 0:
            return BAD, p, 0, 0.0
        follows = load_byte(buffer, p) if p < end else 0
    exponent = 0
    if follows | 32 == _E:
        p, exponent = _exponent(buffer, p + 1, end)
        if p < 0:
            return BAD, p, 0, 0.0
    power = exponent - decimals
    if digits + decimals <= 19 and mantissa <= _LARGEST_EXACT and -22 <= power <= 22:
        # Both factors are exact, so the one rounding is the right one (Clinger 1990).
        number = np.float64(mantissa)
        number = number / _POWERS[-power] if power < 0 else number * _POWERS[power]
        return DECIMAL, p, 0, -number if negative else number
    if digits + exponent > 300 or power < -300:
        return BAD, p, 0, 0.0  # near the ends of what a float64 can hold
    return LONG_DECIMAL, p, start, 0.0


@njit(inline="always")
def _digits_end(buffer, p, end):
    """The place after the digits that start here; eight of them at most."""
    if p + 8 <= buffer.size:
        return p + min(_leading_digits(load_word(buffer, p)), end - p)
    first = p
    while p < end and p < first + 8 and _ZERO <= load_byte(buffer, p) <= _NINE:
        p += 1
    return p


@njit(inline="always")
def short_number_end(buffer, start, end):
    """The place after a number that nobody reads; -1 if it has to be looked at more closely."""
    first = start + 1 if load_byte(buffer, start) == _MINUS else start
    p = _digits_end(buffer, first, end)
    digits = p - first
    if digits == 0 or digits == 8 or (digits > 1 and load_byte(buffer, first) == _ZERO):
        return -1
    if p < end and load_byte(buffer, p) == _POINT:
        first = p + 1
        p = _digits_end(buffer, first, end)
        if p == first or p == first + 8:
            return -1
    return -1 if p < end and load_byte(buffer, p) | 32 == _E else p
