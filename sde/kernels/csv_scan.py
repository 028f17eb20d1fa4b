"""Records of CSV (RFC 4180), cut out of messages, and their fields, for `sde.decoding.csv_tables`.

A field that begins with a quote goes on to the next quote that is not doubled, over delimiters and
newlines. A quote inside another field is a character like others. A record ends with a newline,
before which a carriage return is passed over, or with its message.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sde.kernels.compiling import kernel, load_byte, load_word, store
from sde.kernels.utf8 import HIGH_BITS, is_text

# Outcomes of a record; if it is well formed, the number of its fields.
OPEN_QUOTE, BEHIND_QUOTE, NOT_UTF8 = -1, -2, -3

_QUOTE, _NEWLINE, _RETURN = 34, 10, 13
_ONES = np.uint64(0x0101010101010101)
_QUOTES, _NEWLINES = (_ONES * np.uint64(c) for c in (_QUOTE, _NEWLINE))


@intrinsic
def _zero_bits_below(typing, word):
    """How many bits stand below the lowest one that is set."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@njit(inline="always")
def _next_of(buffer, p, end, some, others):
    """The place of the next byte that is one of two, each given eight times; or the end."""
    found = end
    while p + 8 <= buffer.size and p < end:
        word = load_word(buffer, p)
        one = word ^ some
        other = word ^ others
        # A borrow may set the high bit of higher places wrongly, never of lower ones.
        hits = (((one - _ONES) & ~one) | ((other - _ONES) & ~other)) & HIGH_BITS
        if hits:
            found = p + (_zero_bits_below(hits) >> 3)
            break
        p += 8
    if found == end:
        while p < end:
            word = np.uint64(load_byte(buffer, p))
            if word == some & np.uint64(0xFF) or word == others & np.uint64(0xFF):
                found = p
                break
            p += 1
    return min(found, end)


@njit(inline="always")
def _closing_quote(buffer, p, end):
    """(place, how many quotes are doubled before it) of the quote that ends a field; or the end."""
    doubled = 0
    while p < end:
        p = _next_of(buffer, p, end, _QUOTES, _QUOTES)
        if p + 1 < end and load_byte(buffer, p + 1) == _QUOTE:
            doubled += 1
            p += 2
        else:
            break
    return min(p, end), doubled


@njit(inline="always")
def _record_end(buffer, p, end, delimiter):
    """Where the record that starts at `p`, and has a quote somewhere, ends."""
    delimiters = _ONES * np.uint64(delimiter)
    while p < end:
        if load_byte(buffer, p) == _QUOTE:
            p, _ = _closing_quote(buffer, p + 1, end)
        p = _next_of(buffer, p, end, delimiters, _NEWLINES)
        if p == end or load_byte(buffer, p) == _NEWLINE:
            break
        p += 1
    return p


@kernel
def cut_records(
    buffer, starts, ends, which, delimiter, rec_starts, rec_ends, rec_messages, rec_lines, quoted
):
    """Every record of the messages `which` that is not empty; how many there are.

    quoted[i]: there is a quote in it, and so perhaps a newline. If a quote stays open, the record
    goes on to the end of its message.
    """
    records = 0
    for j in range(which.size):
        p = starts[which[j]]
        end = ends[which[j]]
        line = 0
        while p < end:
            has_quote = False
            stop = _next_of(buffer, p, end, _QUOTES, _NEWLINES)
            if stop < end and load_byte(buffer, stop) == _QUOTE:
                has_quote = True
                stop = _record_end(buffer, p, end, delimiter)
            last = stop
            if last > p and load_byte(buffer, last - 1) == _RETURN:
                last -= 1
            if last > p:
                rec_starts[records] = p
                rec_ends[records] = last
                rec_messages[records] = which[j]
                rec_lines[records] = line
                quoted[records] = has_quote
                records += 1
            line += 1
            if has_quote:
                for i in range(p, stop):
                    line += buffer[i] == _NEWLINE
            p = stop + 1
    return records


@kernel
def cut_fields(
    buffer, starts, ends, quoted, delimiter, column_of, texts, stops, present, doubled, outcomes
):
    """The fields of records into the cells [column, record], field f to column_of[f] (-1: none).

    texts[cell] is where the text starts, stops[cell] where it would end if no quote in it were
    doubled, as `doubled` says. A field that is empty, without quotes, is not `present`.
    """
    delimiters = _ONES * np.uint64(delimiter)
    rows = starts.size
    for row in range(rows):
        p = starts[row]
        end = ends[row]
        outcome = 0
        if not is_text(buffer, p, end):
            outcome = NOT_UTF8
        while outcome >= 0:
            column = column_of[outcome] if outcome < column_of.size else -1
            first = p
            twice = 0
            is_quoted = quoted[row] and p < end and load_byte(buffer, p) == _QUOTE
            if is_quoted:
                first = p + 1
                p, twice = _closing_quote(buffer, first, end)
                last = p - twice
                p += 1
                if p > end:
                    outcome = OPEN_QUOTE
                elif p < end and load_byte(buffer, p) != delimiter:
                    outcome = BEHIND_QUOTE
            else:
                p = _next_of(buffer, p, end, delimiters, delimiters)
                last = p
            if outcome < 0:
                break
            if column >= 0 and (is_quoted or last > first):
                cell = column * rows + row
                store(texts, cell, first)
                store(stops, cell, last)
                store(present, cell, True)
                store(doubled, cell, twice > 0)
            outcome += 1
            if p >= end:
                break
            p += 1
        outcomes[row] = outcome


@kernel
def gather_single(buffer, starts, doubled, out, offsets):
    """out[offsets[i]:offsets[i + 1]] = the text at starts[i], one quote for each doubled one."""
    for i in range(starts.size):
        p = starts[i]
        for at in range(offsets[i], offsets[i + 1]):
            out[at] = buffer[p]
            p += 2 if doubled[i] and buffer[p] == _QUOTE else 1


@kernel
def same_as_before(buffer, starts, ends, same):
    """same[i]: the bytes of span i are those of span i - 1."""
    for i in range(starts.size):
        size = ends[i] - starts[i]
        alike = i > 0 and size == ends[i - 1] - starts[i - 1]
        k = 0
        while alike and k < size:
            alike = buffer[starts[i] + k] == buffer[starts[i - 1] + k]
            k += 1
        same[i] = alike
