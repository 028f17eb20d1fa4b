"""Numbers of expressions: whole ones exactly, as int64, all others as float64.

A column of them is `kinds` (MISSING, WHOLE or DECIMAL), `words` and `decimals`, which are one
array seen as int64 and as float64. Every number that is whole and within int64 is WHOLE, however
it came about: what is computed does not depend on how a value was kept.
"""

import math

import numpy as np

from sde.kernels.compiling import kernel

MISSING, WHOLE, DECIMAL = 0, 1, 2
ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER = 0, 1, 2, 3, 4
NEGATE, ABSOLUTE, FLOOR, ROUND, SQRT, LOG = 0, 1, 2, 3, 4, 5
NOT_COMPARABLE = 2

_LEAST = np.int64(-(2**63))
_BEYOND = 2.0**63
_LARGEST_EXACT = 2.0**53


@kernel
def _put_whole(i, number, kinds, words):
    kinds[i] = WHOLE
    words[i] = number


@kernel
def _put(i, number, kinds, words, decimals):
    if not (-np.inf < number < np.inf):
        kinds[i] = MISSING
    elif -_BEYOND <= number < _BEYOND and math.floor(number) == number:
        _put_whole(i, np.int64(number), kinds, words)
    else:
        kinds[i] = DECIMAL
        decimals[i] = number


@kernel
def _float(i, kinds, words, decimals):
    return np.float64(words[i]) if kinds[i] == WHOLE else decimals[i]


@kernel
def from_floats(numbers, kinds, words, decimals):
    """NaN and infinities are missing."""
    for i in range(numbers.size):
        _put(i, numbers[i], kinds, words, decimals)


@kernel
def from_digits(buffer, offsets, numbers, kinds, words):
    """Texts whose `numbers` float64 may have rounded: exact where they are digits within int64."""
    for i in range(numbers.size):
        if not abs(numbers[i]) >= _LARGEST_EXACT:
            continue
        p = offsets[i]
        end = offsets[i + 1]
        while p < end and (buffer[p] == 32 or 9 <= buffer[p] <= 13):
            p += 1
        while end > p and (buffer[end - 1] == 32 or 9 <= buffer[end - 1] <= 13):
            end -= 1
        negative = p < end and buffer[p] == 45
        if p < end and (buffer[p] == 45 or buffer[p] == 43):
            p += 1
        while p < end and buffer[p] == 48:
            p += 1
        if not 0 < end - p <= 19:
            continue
        magnitude = np.uint64(0)
        while p < end and 48 <= buffer[p] <= 57:
            magnitude = magnitude * np.uint64(10) + np.uint64(buffer[p] - 48)
            p += 1
        if p < end:
            continue
        if magnitude <= np.uint64(2**63 - 1):
            whole = np.int64(magnitude)
            _put_whole(i, -whole if negative else whole, kinds, words)
        elif negative and magnitude == np.uint64(2**63):
            _put_whole(i, _LEAST, kinds, words)


@kernel
def _whole_result(operation, a, b):
    """Whether the exact result is a whole number within int64, and that number."""
    if operation == ADD:
        c = a + b
        return not ((a ^ c) & (b ^ c)) < 0, c
    if operation == SUBTRACT:
        c = a - b
        return not ((a ^ b) & (a ^ c)) < 0, c
    if operation == MULTIPLY:
        about = abs(np.float64(a) * np.float64(b))
        c = a * b
        if about < 9.2e18:
            return True, c
        if about > 9.3e18:
            return False, c
        if b == -1:  # to divide the least number by it traps
            return a != _LEAST, c
        return c // b == a and c % b == 0, c
    if b == 0:
        return False, b
    if b == -1:
        if operation == REMAINDER:
            return True, np.int64(0)
        return a != _LEAST, -a
    rest = a % b
    if operation == DIVIDE:
        return rest == 0, a // b
    return True, rest - b if rest != 0 and (rest < 0) != (a < 0) else rest


@kernel
def _float_result(operation, a, b):
    if operation == ADD:
        return a + b
    if operation == SUBTRACT:
        return a - b
    if operation == MULTIPLY:
        return a * b
    if b == 0.0:
        return np.nan
    if operation == DIVIDE:
        return a / b
    return np.fmod(a, b)


@kernel
def arithmetic(
    operation, a_kinds, a_words, a_decimals, b_kinds, b_words, b_decimals, kinds, words, decimals
):
    """Exact where operands and result are whole and within int64; else in float64."""
    for i in range(kinds.size):
        if a_kinds[i] == MISSING or b_kinds[i] == MISSING:
            kinds[i] = MISSING
            continue
        if a_kinds[i] == WHOLE and b_kinds[i] == WHOLE:
            exact, whole = _whole_result(operation, a_words[i], b_words[i])
            if exact:
                _put_whole(i, whole, kinds, words)
                continue
        a = _float(i, a_kinds, a_words, a_decimals)
        b = _float(i, b_kinds, b_words, b_decimals)
        _put(i, _float_result(operation, a, b), kinds, words, decimals)


@kernel
def _function_result(operation, a):
    if operation == NEGATE:
        return -a
    if operation == ABSOLUTE:
        return abs(a)
    if operation == FLOOR:
        return np.float64(math.floor(a)) if abs(a) < _LARGEST_EXACT else a
    if operation == ROUND:
        if abs(a) >= _LARGEST_EXACT:
            return a
        whole = np.float64(np.int64(a))  # towards zero
        if abs(a - whole) >= 0.5:
            whole += math.copysign(1.0, a)
        return whole
    if operation == SQRT:
        return math.sqrt(a) if a >= 0.0 else np.nan
    return math.log(a) if a > 0.0 else np.nan


@kernel
def function(operation, a_kinds, a_words, a_decimals, kinds, words, decimals):
    """A function of one number; the root of a negative and the logarithm of 0 are missing."""
    for i in range(kinds.size):
        if a_kinds[i] == MISSING:
            kinds[i] = MISSING
            continue
        if a_kinds[i] == WHOLE and operation <= ROUND:
            whole = a_words[i]
            turned = operation == NEGATE or (operation == ABSOLUTE and whole < 0)
            if not turned:
                _put_whole(i, whole, kinds, words)
                continue
            if whole != _LEAST:
                _put_whole(i, -whole, kinds, words)
                continue
        a = _float(i, a_kinds, a_words, a_decimals)
        _put(i, _function_result(operation, a), kinds, words, decimals)


@kernel
def compare(a_kinds, a_words, a_decimals, b_kinds, b_words, b_decimals, orders):
    """orders[i]: -1, 0 or 1 as a is less, equal or greater, exactly; NOT_COMPARABLE if missing."""
    for i in range(orders.size):
        if a_kinds[i] == MISSING or b_kinds[i] == MISSING:
            orders[i] = NOT_COMPARABLE
        elif a_kinds[i] == WHOLE and b_kinds[i] == WHOLE:
            orders[i] = (a_words[i] > b_words[i]) - (a_words[i] < b_words[i])
        else:
            # A decimal is not whole, so below 2**53, where float64 has every whole number; or it
            # is beyond int64, and a whole number that rounds to it is less.
            a = _float(i, a_kinds, a_words, a_decimals)
            b = _float(i, b_kinds, b_words, b_decimals)
            if a == b and a_kinds[i] != b_kinds[i]:
                orders[i] = -1 if b_kinds[i] == DECIMAL else 1
            else:
                orders[i] = np.int8(a > b) - np.int8(a < b)
