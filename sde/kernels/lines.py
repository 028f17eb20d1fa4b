"""Where the lines of many messages begin and end, for `sde.decoding.rows`."""

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from sde.kernels.compiling import kernel, load_word

_NEWLINE = 10
_CLOSE = 125
_ONES = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_NEWLINES = _ONES * np.uint64(_NEWLINE)


@njit(inline="always")
def _line_end(buffer, p, end):
    """The place of the next newline, or the end."""
    while p + 8 <= end:
        differing = load_word(buffer, p) ^ _NEWLINES
        if (differing - _ONES) & ~differing & _HIGH_BITS:
            break
        p += 8
    while p < end and buffer[p] != _NEWLINE:
        p += 1
    return p


@intrinsic
def _bits_set(typing, word):
    def generate(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


@kernel
def count_newlines(buffer, start, end):
    """Newlines in buffer[start:end], eight bytes at a time."""
    low = ~_HIGH_BITS
    count = 0
    p = start
    while p + 8 <= end:
        differing = load_word(buffer, p) ^ _NEWLINES
        # Exact in every byte, where the shorter test for one of them is not.
        count += _bits_set(~(((differing & low) + low) | differing | low))
        p += 8
    while p < end:
        count += buffer[p] == _NEWLINE
        p += 1
    return count


@kernel
def starting_with(buffer, starts, ends, which, mark, fits):
    """fits[j]: message which[j] starts with the mark."""
    for j in range(which.size):
        i = which[j]
        start = starts[i]
        same = buffer[start] == mark[0]
        if same:
            same = start + mark.size <= ends[i]
            k = 1
            while same and k < mark.size:
                same = buffer[start + k] == mark[k]
                k += 1
        fits[j] = same


@njit(inline="always")
def _is_blank(byte):
    return byte == 32 or byte == 13 or byte == 9 or byte == _NEWLINE


@njit(inline="always")
def _text_start(buffer, start, end):
    """Where the text of a message starts: behind a byte order mark."""
    if start + 3 <= end and buffer[start] == 0xEF:
        if buffer[start + 1] == 0xBB and buffer[start + 2] == 0xBF:
            return start + 3
    return start


@kernel
def open_first_lines(buffer, starts, ends, is_open):
    """is_open[i]: message i has several lines, and the first that is not blank ends without }."""
    for i in range(starts.size):
        p = _text_start(buffer, starts[i], ends[i])
        while p < ends[i] and _is_blank(buffer[p]):
            p += 1
        line_end = _line_end(buffer, p, ends[i])
        last = line_end
        while last > p and _is_blank(buffer[last - 1]):
            last -= 1
        is_open[i] = line_end < ends[i] and buffer[last - 1] != _CLOSE


@kernel
def split_lines(
    buffer, starts, ends, is_one, has_marks, row_starts, row_ends, row_messages, row_lines
):
    """Every line that is not blank, without the blanks around it; how many there are.

    A message that is one is not split, though there are newlines in it. A message may begin with
    a byte order mark, if has_marks.
    """
    rows = 0
    for i in range(starts.size):
        line_start = _text_start(buffer, starts[i], ends[i]) if has_marks else starts[i]
        line = 0
        while line_start < ends[i]:
            line_end = ends[i] if is_one[i] else _line_end(buffer, line_start, ends[i])
            first = line_start
            last = line_end
            while first < last and _is_blank(buffer[first]):
                first += 1
            while last > first and _is_blank(buffer[last - 1]):
                last -= 1
            if first < last:
                row_starts[rows] = first
                row_ends[rows] = last
                row_messages[rows] = i
                row_lines[rows] = line
                rows += 1
            line_start = line_end + 1
            line += 1
    return rows
