"""Rows of one producer are alike: the same text stands between their values.

A row that was scanned is learnt as such a shape, and rows of the same shape are read without
looking for names, whatever names, blanks and nesting there are. Values may be of any type. A few
shapes are kept: several producers may write to one topic.
"""

import numpy as np
from numba import njit

from sde.kernels.compiling import kernel, load, load_byte, load_word, unlikely
from sde.kernels.json_numbers import BAD, NOTHING, TEXT, short_number_end
from sde.kernels.json_text import NO_ROOM, QUOTE
from sde.kernels.json_values import IGNORED, bare_at, put_entry, put_of_envelope, text_at

MOST_SHAPES, MOST_VALUES = 4, 64
_MOST_TEXT = 2048
_MOST_WORDS = _MOST_TEXT // 8 + MOST_VALUES + 1
LEFT, NO_TEXT = -1, -2  # instead of the next free entry: not of the shape, no room for a text


def room_for_shapes() -> tuple[np.ndarray, ...]:
    """Arrays in which `scan` keeps the shapes of the rows it has met.

    steps         [shape, i]: bytes and words of the text in front of value i, or behind the last
                  one: (size, first word, the one after the last), then the role of the value
    words         [word]: eight bytes of such a text, and a mask for those that count
    value_counts  [shape]
    """
    return (
        np.empty((MOST_SHAPES, MOST_VALUES + 1, 4), np.int64),
        np.empty((MOST_SHAPES * _MOST_WORDS, 2), np.uint64),
        np.empty(MOST_SHAPES, np.int64),
    )


def room_for_places() -> np.ndarray:
    """Where the values of a row stood, for `learn`: starts, ends and roles."""
    return np.empty((3, MOST_VALUES), np.int64)


@kernel
def learn(buffer, start, end, places, count, shape, shapes):
    """Make a row the shape of that number; whether it can be one.

    `count` values of it stand at places[0, i] to places[1, i] and have the roles places[2, i].
    """
    steps, words, value_counts = shapes
    if count == 0 or count > MOST_VALUES or end - start > _MOST_TEXT or end + 8 > buffer.size:
        return False
    value_counts[shape] = count
    k = shape * _MOST_WORDS
    p = start
    for i in range(count + 1):
        text_end = places[0, i] if i < count else end
        steps[shape, i, 0] = text_end - p
        steps[shape, i, 1] = k
        while p < text_end:
            mask = ~np.uint64(0)
            if text_end - p < 8:
                mask >>= np.uint64(64 - 8 * (text_end - p))
            words[k, 0] = load_word(buffer, p) & mask
            words[k, 1] = mask
            k += 1
            p += 8
        steps[shape, i, 2] = k
        if i < count:
            steps[shape, i, 3] = places[2, i]
            p = places[1, i]
    return True


@njit(inline="always")
def _stands_at(buffer, p, words, first, last):
    """Whether these words of a shape stand there; the buffer goes on for eight bytes behind."""
    differing = np.uint64(0)
    for k in range(first, last):
        differing |= (load_word(buffer, p) & load(words, 2 * k + 1)) ^ load(words, 2 * k)
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
    steps, words, value_counts = shapes
    first_step = shape * 4 * (MOST_VALUES + 1)
    last_step = first_step + 4 * load(value_counts, shape)
    for step in range(first_step, last_step, 4):
        size = load(steps, step)
        first_word, last_word = load(steps, step + 1), load(steps, step + 2)
        if p + size >= end or not _stands_at(buffer, p, words, first_word, last_word):
            return LEFT, spare
        p += size
        role = load(steps, step + 3)
        # The same for texts and for the rest, apart: the compiler makes less of each.
        if load_byte(buffer, p) == QUOTE:
            after, first, second, text_end = text_at(buffer, p, end, spare)
            if unlikely(after < 0):
                return NO_TEXT if after == NO_ROOM else LEFT, spare
            if role >= 0:
                entry = put_entry(entry, role, TEXT, first, second, 0.0, entries)
                spare = text_end
            elif role != IGNORED:
                if not put_of_envelope(
                    buffer, role, p, after, TEXT, first, second, 0.0, longest_name, time_range,
                    row, outcome,
                ):  # fmt: skip
                    return LEFT, spare
                spare = text_end
        else:
            after = short_number_end(buffer, p, end) if role == IGNORED else -1
            if after < 0:
                kind, after, first, second, number = bare_at(buffer, p, end)
                if unlikely(kind == BAD):
                    return LEFT, spare
                if role >= 0:
                    if kind != NOTHING:
                        entry = put_entry(entry, role, kind, first, second, number, entries)
                elif role != IGNORED and not put_of_envelope(
                    buffer, role, p, after, kind, first, second, number, longest_name,
                    time_range, row, outcome,
                ):  # fmt: skip
                    return LEFT, spare
        p = after
    first_word, last_word = load(steps, last_step + 1), load(steps, last_step + 2)
    if p + load(steps, last_step) != end or not _stands_at(buffer, p, words, first_word, last_word):
        return LEFT, spare
    return entry, spare
