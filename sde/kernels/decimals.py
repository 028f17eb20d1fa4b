"""Texts that are numbers, as float64, many at once; `sde.tuples.decimals` does the rare rest."""

import numpy as np

from sde.kernels.compiling import kernel

_POWERS = np.array([10.0**i for i in range(23)])  # all of them exact
_LARGEST_EXACT = np.uint64(2**53)
_TRUE, _FALSE = (np.frombuffer(w, np.uint8) for w in (b"true", b"false"))


@kernel
def _is_blank(byte):
    return byte == 32 or 9 <= byte <= 13


@kernel
def _is_word(buffer, start, end, word):
    if end - start != word.size:
        return False
    for i in range(word.size):
        if buffer[start + i] != word[i]:
            return False
    return True


@kernel
def _is_digit(buffer, p, end):
    return p < end and 48 <= buffer[p] <= 57


@kernel
def parse_decimals(buffer, starts, ends, out, hard):
    """out[i] = the number buffer[starts[i]:ends[i]] stands for, NaN if none; true is 1, false 0.

    Numbers that need more than one exact step are left: their places go to `hard`, their
    starts and ends are moved to the number's first and last character. How many are hard.
    """
    count = 0
    for i in range(starts.size):
        p = starts[i]
        end = ends[i]
        out[i] = np.nan
        while p < end and _is_blank(buffer[p]):
            p += 1
        while end > p and _is_blank(buffer[end - 1]):
            end -= 1
        first = p
        negative = p < end and buffer[p] == 45
        if p < end and (buffer[p] == 45 or buffer[p] == 43):
            p += 1
        mantissa = np.uint64(0)
        digits = 0
        decimals = 0
        while _is_digit(buffer, p, end):
            mantissa = mantissa * np.uint64(10) + np.uint64(buffer[p] - 48)
            digits += 1
            p += 1
        if p < end and buffer[p] == 46:
            p += 1
            while _is_digit(buffer, p, end):
                mantissa = mantissa * np.uint64(10) + np.uint64(buffer[p] - 48)
                decimals += 1
                p += 1
        if digits + decimals == 0:
            if _is_word(buffer, first, end, _TRUE):
                out[i] = 1.0
            elif _is_word(buffer, first, end, _FALSE):
                out[i] = 0.0
            continue
        exponent = 0
        if p < end and (buffer[p] | 32) == 101:
            p += 1
            down = p < end and buffer[p] == 45
            if p < end and (buffer[p] == 45 or buffer[p] == 43):
                p += 1
            if not _is_digit(buffer, p, end):
                continue
            while _is_digit(buffer, p, end):
                exponent = min(exponent * 10 + np.int64(buffer[p] - 48), 10_000)
                p += 1
            if down:
                exponent = -exponent
        if p < end:
            continue
        power = exponent - decimals
        if digits + decimals <= 19 and mantissa <= _LARGEST_EXACT and -22 <= power <= 22:
            # Both factors are exact, so the one rounding is the right one (Clinger 1990).
            number = np.float64(mantissa)
            number = number / _POWERS[-power] if power < 0 else number * _POWERS[power]
            out[i] = -number if negative else number
        else:
            starts[i] = first
            ends[i] = end
            hard[count] = i
            count += 1
    return count
