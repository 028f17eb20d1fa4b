"""Rows of one producer are alike: the same text stands between their values.

A row that was scanned is learnt as such a shape, and rows of the same shape are read without
looking for names, whatever names, blanks and nesting there are. Values may be of any type. A few
shapes are kept: several producers may write to one topic.
"""

import numpy as np
from numba import njit

from sde.kernels.compiling import kernel, load, load_byte, load_word
from sde.kernels.json_numbers import BAD, NOTHING, short_number_end
from sde.kernels.json_text import QUOTE
from sde.kernels.json_values import IGNORED, OUT_OF_ROOM, put_entry, put_of_envelope, scalar

MOST_SHAPES, MOST_VALUES = 4, 64
_MOST_TEXT = 2048
_MOST_WORDS = _MOST_TEXT // 8 + MOST_VALUES + 1
LEFT, NO_TEXT = -1, -2  # instead of the next free entry: not of the shape, no room for a text


def room_for_shapes() -> tuple[np.ndarray, ...]:
    """Arrays in which `scan` keeps the shapes of the rows it has met."""
    return (
        np.empty((MOST_SHAPES, MOST_VALUES + 1), np.int64),
        np.empty((MOST_SHAPES, MOST_VALUES + 2), np.int64),
        np.empty((MOST_SHAPES, _MOST_WORDS), np.uint64),
        np.empty((MOST_SHAPES, _MOST_WORDS), np.uint64),
        np.empty((MOST_SHAPES, MOST_VALUES), np.int64),
        np.empty(MOST_SHAPES, np.int64),
    )


def room_for_places() -> np.ndarray:
    """Where the values of a row stood, for `learn`: starts, ends and roles."""
    return np.empty((3, MOST_VALUES), np.int64)


@kernel
def learn(buffer, start, end, places, count, shape, shapes):
    """Make a row the shape of that number; whether it can be one.

    `count` values of it stand at places[0, i] to places[1, i] and have the roles places[2, i]. In
    front of value i, and behind the last one, stands a text of sizes[i] bytes: the words from
    word_bounds[i] on, the last one of which is masked.
    """
    sizes, word_bounds, words, masks, roles, value_counts = shapes
    if count == 0 or count > MOST_VALUES or end - start > _MOST_TEXT or end + 8 > buffer.size:
        return False
    value_counts[shape] = count
    k = 0
    word_bounds[shape, 0] = 0
    p = start
    for i in range(count + 1):
        text_end = places[0, i] if i < count else end
        sizes[shape, i] = text_end - p
        while p < text_end:
            mask = ~np.uint64(0)
            if text_end - p < 8:
                mask >>= np.uint64(64 - 8 * (text_end - p))
            masks[shape, k] = mask
            words[shape, k] = load_word(buffer, p) & mask
            k += 1
            p += 8
        word_bounds[shape, i + 1] = k
        if i < count:
            roles[shape, i] = places[2, i]
            p = places[1, i]
    return True


@njit(inline="always")
def _stands_at(buffer, p, words, masks, first, last):
    """Whether these words of a shape stand there; the buffer goes on for eight bytes behind."""
    differing = np.uint64(0)
    for k in range(first, last):
        differing |= (load_word(buffer, p) & load(masks, k)) ^ load(words, k)
        p += 8
    return differing == 0


@njit(inline="always")
def shaped_row(
    buffer, p, end, row, entry, spare, shape, shapes, longest_name, time_range, entries, outcome
):  # fmt: skip
    """Read a row of that shape: the next free entry and the next spare place.

    LEFT instead of the entry if the row has not the shape, NO_TEXT if one of its texts, as it is
    without escapes, may not fit into the buffer.
    """
    sizes, word_bounds, words, masks, roles, value_counts = shapes
    values = load(value_counts, shape)
    at_size = shape * (MOST_VALUES + 1)
    at_bound = shape * (MOST_VALUES + 2)
    at_word = shape * _MOST_WORDS
    at_role = shape * MOST_VALUES
    for i in range(values):
        size = load(sizes, at_size + i)
        first_word = at_word + load(word_bounds, at_bound + i)
        last_word = at_word + load(word_bounds, at_bound + i + 1)
        if p + size >= end or not _stands_at(buffer, p, words, masks, first_word, last_word):
            return LEFT, spare
        p += size
        role = load(roles, at_role + i)
        if role == IGNORED and load_byte(buffer, p) != QUOTE:
            after = short_number_end(buffer, p, end)
            if after >= 0:
                p = after
                continue
        kind, after, first, second, number, text_end = scalar(buffer, p, end, spare)
        if kind >= BAD:
            return NO_TEXT if kind == OUT_OF_ROOM else LEFT, spare
        if role >= 0:
            if kind != NOTHING:
                entry = put_entry(entry, role, kind, first, second, number, entries)
                spare = text_end
        elif role != IGNORED:
            if not put_of_envelope(
                buffer, role, p, after, kind, first, second, number, longest_name, time_range,
                row, outcome,
            ):  # fmt: skip
                return LEFT, spare
            spare = text_end
        p = after
    size = load(sizes, at_size + values)
    first_word = at_word + load(word_bounds, at_bound + values)
    last_word = at_word + load(word_bounds, at_bound + values + 1)
    if p + size != end or not _stands_at(buffer, p, words, masks, first_word, last_word):
        return LEFT, spare
    return entry, spare
