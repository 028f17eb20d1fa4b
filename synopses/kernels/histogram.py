"""Histograms over a bank (slots, buckets). No checks, no objects.

A bucket's place is guessed by arithmetic or a table and settled by comparing with the edges, so
rounding in the guess never shows.
"""

import numpy as np
from numba import njit

_ABSOLUTE = np.uint64(2**63 - 1)


@njit(cache=True, nogil=True, inline="always")
def linear_bucket(value, edges, per_width):
    """0: below the first edge; 1 to n: the buckets, the last with both edges; n + 1: above."""
    n = edges.size - 1
    if value < edges[0]:
        return 0
    if value > edges[n]:
        return n + 1
    at = min(np.uintp((value - edges[0]) * per_width), np.uintp(n - 1))
    while value < edges[at]:
        at -= np.uintp(1)
    while at < np.uintp(n - 1) and value >= edges[at + np.uintp(1)]:
        at += np.uintp(1)
    return np.int64(at) + 1


@njit(cache=True, nogil=True, inline="always")
def logarithmic_bucket(value, word, edges, starts, first_cell, shift):
    """n: nearer to zero than the first edge; n + i: from edges[i - 1] on; n - i: negative ones.

    `word` is the value's bits: without the sign they are ordered as sizes are, so their upper part
    is a cell of the table `starts`: how many edges lie at or below it. The last edge is infinity.
    """
    n = edges.size - 1
    size = abs(value)
    cell = max((word & _ABSOLUTE) >> shift, first_cell) - first_cell
    at = np.uint64(starts[min(cell, np.uint64(starts.size - 1))])
    at += np.uint64(size >= edges[at])  # without a branch: nobody could predict it
    while size >= edges[at]:
        at += np.uint64(1)
    return n + np.int64(at) if value > 0 else n - np.int64(at)


@njit(cache=True, nogil=True)
def add_linear(counts, slots, values, edges, per_width):
    flat, size = counts.reshape(-1), np.uint64(counts.shape[1])
    for i in range(slots.size):
        at = linear_bucket(values[i], edges, per_width)
        flat[np.uint64(slots[i]) * size + np.uint64(at)] += 1


@njit(cache=True, nogil=True)
def add_logarithmic(counts, slots, values, words, edges, starts, first_cell, shift):
    flat, size = counts.reshape(-1), np.uint64(counts.shape[1])
    for i in range(slots.size):
        at = logarithmic_bucket(values[i], words[i], edges, starts, first_cell, shift)
        flat[np.uint64(slots[i]) * size + np.uint64(at)] += 1
