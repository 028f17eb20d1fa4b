"""A scalar of JSON becomes an entry: the number of its field, its type, and two words.

INTEGER (its value, 0), DECIMAL (the bits of its float64, 0), TEXT and LONG_DECIMAL (where it starts
and ends in the buffer). `true` and `false` are texts. `null` is nothing.
"""

import math

import numpy as np
from numba import njit

from sde.kernels.compiling import kernel, load_byte, store, unlikely
from sde.kernels.json_numbers import (
    BAD,
    DECIMAL,
    INTEGER,
    LONG_DECIMAL,
    NOTHING,
    TEXT,
    number_at,
)
from sde.kernels.json_text import ESCAPED, NO_STRING, QUOTE, string_end, unescape

# What the value of a tuple is, where it is not that of a field (which has its number).
DATASET_NAME, STREAM_NAME, TUPLE_TIME, IGNORED = -1, -2, -3, -4

_TRUE, _FALSE, _NULL = (np.frombuffer(w, np.uint8) for w in (b"true", b"false", b"null"))
_MINUS, _POINT, _ZERO, _NINE = 45, 46, 48, 57


@kernel
def _is_word(buffer, p, end, word):
    if p + word.size > end:
        return False
    for i in range(word.size):
        if load_byte(buffer, p + i) != word[i]:
            return False
    return True


@kernel
def _literal(buffer, p, end):
    """(type, place after it) of `true`, `false` or `null`."""
    if _is_word(buffer, p, end, _TRUE):
        return TEXT, p + 4
    if _is_word(buffer, p, end, _FALSE):
        return TEXT, p + 5
    return (NOTHING, p + 4) if _is_word(buffer, p, end, _NULL) else (BAD, p)


@njit(inline="always")
def text_at(buffer, p, end, spare):
    """(place after its closing quote, start, end, next spare place) of the text quoted at p.

    The place is NO_STRING or NO_ROOM if there is none. A text with escapes is written to
    buffer[spare:].
    """
    quote = string_end(buffer, p + 1, end)
    if unlikely(quote < 0):
        if quote != ESCAPED:
            return NO_STRING, 0, 0, spare
        quote, text_end = unescape(buffer, p + 1, end, spare)
        return quote + 1 if quote >= 0 else quote, spare, text_end, text_end
    return quote + 1, p + 1, quote, spare


@njit(inline="always")
def bare_at(buffer, p, end):
    """(type, place after it, first word, second word, float) of a number, `true`, `false`, `null`.

    The row goes on at p, before `end`.
    """
    kind, after, first, number = number_at(buffer, p, end)
    if unlikely(kind == BAD):
        kind, after = _literal(buffer, p, end)
        return kind, after, p, after, 0.0
    return kind, after, first, after if kind == LONG_DECIMAL else 0, number


@njit(inline="always")
def put_entry(entry, field, kind, first, second, number, entries):
    """Write a value down; the next free entry."""
    entry_fields, entry_types, entry_words, entry_floats = entries
    store(entry_fields, entry, field)
    store(entry_types, entry, kind)
    store(entry_words, 2 * entry, first)
    store(entry_words, 2 * entry + 1, second)
    if kind == DECIMAL:
        store(entry_floats, 2 * entry, number)
    return entry + 1


@kernel
def _is_own_text(buffer, kind, first, start, end):
    """Whether a number is written as its text form is: `7` or `7.5`, not `-0`, `7.50`, `75e-1`."""
    negative = load_byte(buffer, start) == _MINUS
    if kind == INTEGER:
        return first != 0 or not negative
    start += negative
    if kind != DECIMAL or end - start > 16 or load_byte(buffer, end - 1) == _ZERO:
        return False
    if load_byte(buffer, start) == _ZERO and load_byte(buffer, start + 2) == _ZERO:
        return False  # a small number may be written with an exponent
    for p in range(start, end):
        if load_byte(buffer, p) != _POINT and not _ZERO <= load_byte(buffer, p) <= _NINE:
            return False
    return True


@njit(inline="always")
def put_of_envelope(
    buffer, role, start, after, kind, first, second, number, longest_name, time_range, row, outcome
):
    """Write the name of a data set or stream or the time of a tuple down; whether it can be one.

    The value was read from buffer[start:after]. A null is no time. A number may name a stream, if
    it is written as its text form is.
    """
    spans, times = outcome
    if role == TUPLE_TIME:
        if unlikely(kind != INTEGER):
            if kind != DECIMAL:
                return kind == NOTHING
            if not time_range[0] <= number <= time_range[1]:
                return False
            first = np.int64(math.floor(number))
        if not time_range[0] <= first <= time_range[1]:
            return False
        store(times, row, first)
        return True
    if unlikely(load_byte(buffer, start) != QUOTE):
        if role != STREAM_NAME or not _is_own_text(buffer, kind, first, start, after):
            return False
        first, second = start, after
    if second <= first or second - first > longest_name:
        return False
    place = 0 if role == DATASET_NAME else 2
    store(spans, place * times.size + row, first)
    store(spans, (place + 1) * times.size + row, second)
    return True
