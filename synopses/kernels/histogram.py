"""Histograms over a bank (slots, buckets). No checks, no objects.

A bucket's place is guessed by arithmetic and settled by comparing with the edges, so rounding
in the guess never shows.
"""

import math

from numba import njit


@njit(cache=True, nogil=True)
def _settle(value, guess, edges):
    """The bucket i with edges[i] <= value < edges[i + 1], searched from a guess nearby."""
    at = min(max(guess, 0), edges.size - 2)
    while at > 0 and value < edges[at]:
        at -= 1
    while at < edges.size - 2 and value >= edges[at + 1]:
        at += 1
    return at


@njit(cache=True, nogil=True)
def linear_bucket(value, edges):
    """0: below the first edge; 1 to n: the buckets, the last with both edges; n + 1: above."""
    n = edges.size - 1
    if value < edges[0]:
        return 0
    if value > edges[n]:
        return n + 1
    share = (value - edges[0]) / (edges[n] - edges[0])
    return _settle(value, int(share * n), edges) + 1


@njit(cache=True, nogil=True)
def logarithmic_bucket(value, edges):
    """n: nearer to zero than the first edge; n + i: from edges[i - 1] on; n - i: negative ones."""
    n = edges.size
    size = abs(value)
    if size < edges[0]:
        return n
    if size >= edges[n - 1]:
        at = n
    else:
        first = math.log(edges[0])
        share = (math.log(size) - first) / (math.log(edges[n - 1]) - first)
        at = _settle(size, int(share * (n - 1)), edges) + 1
    return n + at if value > 0 else n - at


@njit(cache=True, nogil=True)
def add_linear(counts, slots, values, edges):
    for i in range(slots.size):
        counts[slots[i], linear_bucket(values[i], edges)] += 1


@njit(cache=True, nogil=True)
def add_logarithmic(counts, slots, values, edges):
    for i in range(slots.size):
        counts[slots[i], logarithmic_bucket(values[i], edges)] += 1
