"""Strings of JSON: where they end, and what they stand for if there are escapes in them."""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sde.kernels.compiling import copy_word, kernel, load_byte, load_word, store
from sde.kernels.utf8 import HIGH_BITS, is_utf8

QUOTE, BACKSLASH = 34, 92
# What stands for the place of a closing quote, where there is none.
NO_STRING, ESCAPED, NO_ROOM = -1, -2, -3

# Eight bytes at once: the same byte in all eight places of a word.
ONES = np.uint64(0x0101010101010101)
_QUOTES, _BACKSLASHES, _SPACES = (ONES * np.uint64(c) for c in (34, 92, 32))
_HEX = np.full(256, -1, np.int64)  # the number that a hexadecimal digit stands for
for _digits in (b"0123456789abcdef", b"0123456789ABCDEF"):
    _HEX[np.frombuffer(_digits, np.uint8)] = np.arange(16)
# What a letter behind a backslash stands for; 0: nothing.
_SHORT = np.zeros(256, np.uint8)
_SHORT[np.frombuffer(b'"\\/bfnrt', np.uint8)] = np.frombuffer(b'"\\/\b\f\n\r\t', np.uint8)


@intrinsic
def zero_bits_below(typing, word):
    """How many bits stand below the lowest one that is set."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@njit(inline="always")
def skip_blanks(buffer, p, end):
    while p < end and (
        load_byte(buffer, p) == 32
        or load_byte(buffer, p) == 10
        or load_byte(buffer, p) == 13
        or load_byte(buffer, p) == 9
    ):
        p += 1
    return p


@njit(inline="always")
def _stops(word):
    """The lowest bit that is set is the high one of the first quote, backslash or control byte."""
    quotes = word ^ _QUOTES
    backslashes = word ^ _BACKSLASHES
    # The high bit of a place is set if its byte is 0 in a xor or below a space; a borrow may set
    # higher places wrongly, never lower ones.
    hits = ((quotes - ONES) & ~quotes) | ((backslashes - ONES) & ~backslashes)
    return (hits | ((word - _SPACES) & ~word)) & HIGH_BITS


@njit(inline="always")
def string_end(buffer, start, end):
    """The place of the closing quote of the string whose text starts here.

    ESCAPED if there is a backslash before it; NO_STRING if it is none, or not UTF-8.
    """
    p = start
    seen = np.uint64(0)
    while p + 8 <= buffer.size:
        word = load_word(buffer, p)
        seen |= word
        hits = _stops(word)
        if hits:
            p += zero_bits_below(hits) >> 3
            break
        p += 8
    while (
        p < end
        and load_byte(buffer, p) >= 32
        and load_byte(buffer, p) != QUOTE
        and load_byte(buffer, p) != BACKSLASH
    ):
        seen |= np.uint64(load_byte(buffer, p))
        p += 1
    if p >= end:
        return NO_STRING
    if load_byte(buffer, p) != QUOTE:
        return ESCAPED if load_byte(buffer, p) == BACKSLASH else NO_STRING
    return p if not seen & HIGH_BITS or is_utf8(buffer, start, p) else NO_STRING


@njit(inline="always")
def _four_hex_digits(buffer, p, end):
    """The number that they make; -1 if they are not there."""
    if p + 4 > end:
        return -1
    high = (_HEX[load_byte(buffer, p)] << 4) | _HEX[load_byte(buffer, p + 1)]
    low = (_HEX[load_byte(buffer, p + 2)] << 4) | _HEX[load_byte(buffer, p + 3)]
    code = (high << 8) | low
    return -1 if code < 0 else code


@njit(inline="always")
def _code_point(buffer, p, end):
    """(place after it, what it stands for) of the escape whose `u` stands before p; -1 if none.

    Half of a pair of surrogates stands for nothing.
    """
    code = _four_hex_digits(buffer, p, end)
    if not 0xD800 <= code <= 0xDFFF:
        return p + 4, code
    if code > 0xDBFF or p + 6 > end:
        return p, -1
    if load_byte(buffer, p + 4) != BACKSLASH or load_byte(buffer, p + 5) != 117:
        return p, -1
    low = _four_hex_digits(buffer, p + 6, end)
    if not 0xDC00 <= low <= 0xDFFF:
        return p, -1
    return p + 10, 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00


@njit(inline="always")
def _put_utf8(buffer, at, code):
    """The place after the bytes of a code point."""
    if code < 0x80:
        store(buffer, at, np.uint8(code))
        return at + 1
    if code < 0x800:
        store(buffer, at, np.uint8(0xC0 | (code >> 6)))
        store(buffer, at + 1, np.uint8(0x80 | (code & 0x3F)))
        return at + 2
    if code < 0x10000:
        store(buffer, at, np.uint8(0xE0 | (code >> 12)))
        store(buffer, at + 1, np.uint8(0x80 | ((code >> 6) & 0x3F)))
        store(buffer, at + 2, np.uint8(0x80 | (code & 0x3F)))
        return at + 3
    store(buffer, at, np.uint8(0xF0 | (code >> 18)))
    store(buffer, at + 1, np.uint8(0x80 | ((code >> 12) & 0x3F)))
    store(buffer, at + 2, np.uint8(0x80 | ((code >> 6) & 0x3F)))
    store(buffer, at + 3, np.uint8(0x80 | (code & 0x3F)))
    return at + 4


@kernel
def unescape(buffer, start, end, spare):
    """Write what the string whose text starts here stands for to buffer[spare:].

    (place of its closing quote, end of what was written). The place is NO_STRING if it is none or
    not UTF-8, NO_ROOM if the buffer might be too small. A text is never longer than the string.
    """
    if spare + end - start + 8 > buffer.size:
        return NO_ROOM, spare
    p = start
    at = spare
    seen = np.uint64(0)
    while p < end:
        if p + 8 <= end:
            # at - spare <= p - start, so there is room for the word, though not all of it stays.
            word = load_word(buffer, p)
            copy_word(buffer, p, buffer, at)
            seen |= word
            hits = _stops(word)
            plain = zero_bits_below(hits) >> 3 if hits else 8
            p += plain
            at += plain
            if not hits:
                continue
        c = load_byte(buffer, p)
        if c == QUOTE:
            is_text = not seen & HIGH_BITS or is_utf8(buffer, start, p)
            return p if is_text else NO_STRING, at
        if c < 32:
            break
        if c != BACKSLASH:
            seen |= np.uint64(c)
            store(buffer, at, np.uint8(c))
            p += 1
            at += 1
            continue
        if p + 1 >= end:
            break
        c = load_byte(buffer, p + 1)
        if c == 117:
            p, code = _code_point(buffer, p + 2, end)
            if code < 0:
                break
            at = _put_utf8(buffer, at, code)
        else:
            if _SHORT[c] == 0:
                break
            store(buffer, at, _SHORT[c])
            p += 2
            at += 1
    return NO_STRING, spare
