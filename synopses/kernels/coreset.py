"""Merge-and-reduce of weighted points over a bank.

Level 0 of a slot collects points as they come; level h > 0 is empty or a bucket of at most `size`
weighted points that stand for about size * 2^(h-1) points. Two buckets of one level are reduced
to one of the next, like a carry in a binary counter. `moved[h]` bounds the distance, in the
Euclidean norm over all points of the bucket, between the points and their representatives.
"""

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _toss(coins, slot):
    """The next number of a slot, uniform in (0, 1)."""
    coins[slot] += np.uint64(1)
    x = coins[slot] * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return (np.float64(x >> np.uint64(11)) + 0.5) / 9007199254740992.0


@njit(cache=True, nogil=True)
def _pick(masses, n, total, toss):
    """An index with probability in proportion to its mass."""
    left = toss * total
    last = 0
    for i in range(n):
        if masses[i] > 0.0:
            last = i
            left -= masses[i]
            if left < 0.0:
                break
    return last


@njit(cache=True, nogil=True)
def _reduce(points, weights, n, size, coins, slot):
    """Replace n points by at most `size` of them, by D^2 sampling; how many, and how far moved."""
    dimensions = points.shape[1]
    nearest = np.zeros(n, np.int64)
    squares = np.full(n, np.inf)
    masses = np.empty(n)
    centres = np.empty(size, np.int64)
    for i in range(n):
        masses[i] = weights[i]
    chosen = 0
    while chosen < size:
        total = 0.0
        for i in range(n):
            total += masses[i]
        if total <= 0.0:
            break
        centre = _pick(masses, n, total, _toss(coins, slot))
        for i in range(n):
            square = 0.0
            for d in range(dimensions):
                step = points[i, d] - points[centre, d]
                square += step * step
            if square < squares[i]:
                squares[i] = square
                nearest[i] = chosen
                masses[i] = weights[i] * square
        centres[chosen] = centre
        chosen += 1
    sums = np.zeros(chosen)
    moved = 0.0
    for i in range(n):
        sums[nearest[i]] += weights[i]
        moved += weights[i] * squares[i]
    representatives = np.empty((chosen, dimensions))
    for c in range(chosen):
        for d in range(dimensions):
            representatives[c, d] = points[centres[c], d]
    for c in range(chosen):
        weights[c] = sums[c]
        for d in range(dimensions):
            points[c, d] = representatives[c, d]
    return chosen, math.sqrt(moved)


@njit(cache=True, nogil=True)
def _take(points, weights, counts, slot, level, out, out_weights, at):
    """Move the bucket of a level behind the first `at` points of `out`; the number there then."""
    n = counts[slot, level]
    for i in range(n):
        out_weights[at + i] = weights[slot, level, i]
        weights[slot, level, i] = 0.0
        for d in range(points.shape[3]):
            out[at + i, d] = points[slot, level, i, d]
            points[slot, level, i, d] = 0.0
    counts[slot, level] = 0
    return at + n


@njit(cache=True, nogil=True)
def _carry(points, weights, counts, moved, coins, slot, level, bucket, bucket_weights, n, distance):
    """Put a bucket on a level; where one is already, reduce both to one of the next level.

    `bucket` has room for two buckets.
    """
    size = points.shape[2]
    while counts[slot, level] > 0:
        n = _take(points, weights, counts, slot, level, bucket, bucket_weights, n)
        n, step = _reduce(bucket, bucket_weights, n, size, coins, slot)
        distance = math.sqrt(distance**2 + moved[slot, level] ** 2) + step
        moved[slot, level] = 0.0
        level = min(level + 1, points.shape[1] - 1)
    for i in range(n):
        weights[slot, level, i] = bucket_weights[i]
        for d in range(points.shape[3]):
            points[slot, level, i, d] = bucket[i, d]
    counts[slot, level] = n
    moved[slot, level] = distance


@njit(cache=True, nogil=True)
def add(points, weights, counts, moved, coins, n, slots, values):
    """Collect points on level 0, and carry it up when it is full."""
    size, dimensions = points.shape[2], points.shape[3]
    bucket = np.empty((2 * size, dimensions))
    bucket_weights = np.empty(2 * size)
    for i in range(slots.size):
        slot = slots[i]
        n[slot] += 1
        place = counts[slot, 0]
        weights[slot, 0, place] = 1.0
        for d in range(dimensions):
            points[slot, 0, place, d] = values[i, d]
        counts[slot, 0] = place + 1
        if counts[slot, 0] == size:
            _take(points, weights, counts, slot, 0, bucket, bucket_weights, 0)
            _carry(
                points, weights, counts, moved, coins, slot, 1, bucket, bucket_weights, size, 0.0
            )


@njit(cache=True, nogil=True)
def merge(points, weights, counts, moved, coins, others, other_weights, other_counts, other_moved):
    """Carry each bucket of another synopsis into slot 0, on its own level."""
    size, dimensions = points.shape[2], points.shape[3]
    bucket = np.empty((2 * size, dimensions))
    bucket_weights = np.empty(2 * size)
    for level in range(1, other_counts.size):
        n = other_counts[level]
        if n == 0:
            continue
        for i in range(n):
            bucket_weights[i] = other_weights[level, i]
            for d in range(dimensions):
                bucket[i, d] = others[level, i, d]
        _carry(
            points, weights, counts, moved, coins, 0, level,
            bucket, bucket_weights, n, other_moved[level],
        )  # fmt: skip
