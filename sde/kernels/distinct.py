"""Distinct names of many rows, in order of first appearance; rows sorted into groups."""

import numpy as np
from numba import njit

from sde.kernels.compiling import kernel, load_word

_SHORT = 16  # bytes: such a name is known by its two words, longer ones by hashes and a comparison


@kernel
def _mix(x):
    """The finaliser of splitmix64, as in `sde.kernels.identities`."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(inline="always")
def _word_of(buffer, at, size):
    """The first bytes at buffer[at:], at most eight and at most `size`, and zeros."""
    if size <= 0:
        return np.uint64(0)
    if at + 8 <= buffer.size:
        word = load_word(buffer, at)
        if size < 8:
            word &= (np.uint64(1) << np.uint64(8 * size)) - np.uint64(1)
        return word
    word = np.uint64(0)
    for i in range(min(size, 8)):
        word |= np.uint64(buffer[at + i]) << np.uint64(8 * i)
    return word


@kernel
def _long_words(buffer, start, size, seed):
    """Two words that stand for a long name: hashes of its bytes."""
    first = seed ^ np.uint64(1)
    second = seed + np.uint64(2)
    for i in range(0, size, 8):
        word = _word_of(buffer, start + i, size - i)
        first = _mix(first ^ word)
        second = _mix(second + word)
    return first, second


@kernel
def _equal(buffer, a, b, size):
    """Whether the same bytes stand at both places."""
    for i in range(size):
        if buffer[a + i] != buffer[b + i]:
            return False
    return True


@kernel
def copy_entries(table, seed, larger):
    """Put the entries of a table of `distinct` into a larger one, which is all zeros."""
    mask = np.uint64(larger.shape[0] - 1)
    for i in range(table.shape[0]):
        if table[i, 3]:
            slot = _mix(table[i, 0] ^ _mix(table[i, 1] ^ table[i, 2] ^ seed)) & mask
            while larger[slot, 3]:
                slot = (slot + np.uint64(1)) & mask
            for k in range(4):
                larger[slot, k] = table[i, k]


@kernel
def distinct(buffer, starts, ends, parents, seed, numbers, row, count, table, firsts):
    """numbers[i] = which distinct (parent, text) row i has; firsts: the rows they first stood in.

    Goes on from `row`, with `count` of them known; returns both as they are at the end, or where
    `firsts` is full. The table has a power of two rows, at least twice as many as `firsts`; an
    entry is two words of the text, parent and size, and its number + 1: one cache line.

    The seed changes where entries lie in the table and nothing else: who does not know it cannot
    choose texts that all lie in one place.
    """
    before_first = before_second = before_about = np.uint64(0)
    number = -1
    mask = np.uint64(table.shape[0] - 1)
    while row < starts.size and count < firsts.size:
        start = starts[row]
        size = ends[row] - start
        if size <= _SHORT:
            first = _word_of(buffer, start, size)
            second = _word_of(buffer, start + 8, size - 8)
        else:
            first, second = _long_words(buffer, start, size, seed)
        about = (np.uint64(parents[row]) << np.uint64(32)) | np.uint64(size)
        same = first == before_first and second == before_second and about == before_about
        if number >= 0 and same and size <= _SHORT:
            numbers[row] = number
            row += 1
            continue
        before_first, before_second, before_about = first, second, about
        slot = _mix(first ^ _mix(second ^ about ^ seed)) & mask
        number = -1
        while table[slot, 3]:
            if table[slot, 0] == first and table[slot, 1] == second and table[slot, 2] == about:
                known = np.int64(table[slot, 3]) - 1
                if size <= _SHORT or _equal(buffer, starts[firsts[known]], start, size):
                    number = known
                    break
            slot = (slot + np.uint64(1)) & mask
        if number < 0:
            number = count
            table[slot, 0] = first
            table[slot, 1] = second
            table[slot, 2] = about
            table[slot, 3] = np.uint64(number + 1)
            firsts[number] = row
            count += 1
        numbers[row] = number
        row += 1
    return row, count


@kernel
def renumber(numbers, new_numbers, new_of, firsts):
    """Numbers in order of first appearance: firsts[new] = old; how many there are.

    `new_of`, filled with -1, and `firsts` have a place for every old number.
    """
    count = 0
    for i in range(numbers.size):
        old = numbers[i]
        if new_of[old] < 0:
            new_of[old] = count
            firsts[count] = old
            count += 1
        new_numbers[i] = new_of[old]
    return count


@kernel
def sort_by_group(groups, starts, next_place, order, places):
    """A stable counting sort: row order[j] has the j-th place, places[row] within its group.

    `starts` holds the first place of each group, and so does `next_place`, which goes on.
    """
    for row in range(groups.size):
        group = groups[row]
        place = next_place[group]
        next_place[group] = place + 1
        order[place] = row
        places[row] = place - starts[group]
