"""From the values of rows to columns: each (group of rows, field) that occurs is one column.

`sde.decoding.columns` calls `survey` for the sizes, makes the arrays, and calls `scatter`.
"""

import numpy as np
from numba import njit

from sde.kernels.compiling import copy_word, kernel

INTEGERS, DECIMALS, TEXTS, LARGE = 1, 2, 4, 8  # what occurs in a column, one bit each
TAIL = 8  # bytes that may be written behind the last text
_LARGEST_EXACT = 2**53


@njit(inline="always")
def _copy(source, start, size, target, at):
    """Copy `size` bytes, and perhaps up to 7 of what follows them."""
    i = 0
    while i < size and start + i + 8 <= source.size:
        copy_word(source, start + i, target, at + i)
        i += 8
    while i < size:
        target[at + i] = source[start + i]
        i += 1


@kernel
def survey(
    groups, row_entries, entry_fields, entry_types, entry_words, column_of, counts, contents, sizes
):
    """Which columns there are: their values counted, the kinds of values in them noted.

    column_of[group, field] becomes the column's number (-1: none) in order of appearance, and
    sizes[column] the bytes of its texts; types are those of the scanner: 1 integer, 2 decimal,
    3 text. How many columns there are.
    """
    columns = 0
    for row in range(groups.size):
        group = groups[row]
        for e in range(row_entries[row, 0], row_entries[row, 1]):
            column = column_of[group, entry_fields[e]]
            if column < 0:
                column = columns
                column_of[group, entry_fields[e]] = column
                counts[column] = 0
                contents[column] = 0
                sizes[column] = 0
                columns += 1
            counts[column] += 1
            if entry_types[e] == 1:
                contents[column] |= INTEGERS
                if not -_LARGEST_EXACT <= entry_words[e, 0] <= _LARGEST_EXACT:
                    contents[column] |= LARGE
            elif entry_types[e] == 2:
                contents[column] |= DECIMALS
            else:
                contents[column] |= TEXTS
                sizes[column] += entry_words[e, 1] - entry_words[e, 0]
    return columns


@kernel
def entries_of_type(groups, row_entries, entry_fields, entry_types, column_of, chosen, wanted, out):
    """The entries of one type in the chosen columns; how many there are."""
    count = 0
    for row in range(groups.size):
        for e in range(row_entries[row, 0], row_entries[row, 1]):
            if entry_types[e] == wanted and chosen[column_of[groups[row], entry_fields[e]]]:
                out[count] = e
                count += 1
    return count


@kernel
def scatter(
    buffer, groups, places, row_entries, entry_fields, entry_types, entry_words,
    column_of, contents, bases, next_text, words, floats, present, text,
):  # fmt: skip
    """Put every value into its cell: cell = bases[column] + the row's place in its group.

    Of a text the cell gets the size; its bytes go to `text`, to next_text[column], which goes on
    behind them. Integers among decimals become decimals.
    """
    for row in range(groups.size):
        for e in range(row_entries[row, 0], row_entries[row, 1]):
            column = column_of[groups[row], entry_fields[e]]
            cell = bases[column] + places[row]
            present[cell] = True
            if contents[column] & TEXTS:
                size = entry_words[e, 1] - entry_words[e, 0]
                words[cell] = size
                _copy(buffer, entry_words[e, 0], size, text, next_text[column])
                next_text[column] += size
            elif contents[column] & DECIMALS and entry_types[e] == 1:
                floats[cell] = np.float64(entry_words[e, 0])
            else:
                words[cell] = entry_words[e, 0]
