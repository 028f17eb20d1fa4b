"""Count-Min and Fast-AGMS the obvious way: Python's whole numbers, one key at a time."""

import numpy as np

WORD = 2**64 - 1


def _word(pair, row, seed):
    h1, h2 = int(pair[0]) ^ seed, int(pair[1]) | 1
    h = (h1 + row * h2) & WORD
    h ^= h >> 33
    return (h * 0xFF51AFD7ED558CCD) & WORD


def column(pair, row, seed, width):
    return ((_word(pair, row, seed) >> 32) * width) >> 32


def count_min(pairs, weights, depth, width, seed):
    table = np.zeros((depth, width), np.int64)
    for pair, weight in zip(pairs, weights, strict=True):
        for row in range(depth):
            table[row, column(pair, row, seed, width)] += weight
    return table


def conservative(pairs, weights, depth, width, seed):
    table = np.zeros((depth, width), np.int64)
    for pair, weight in zip(pairs, weights, strict=True):
        places = [(row, column(pair, row, seed, width)) for row in range(depth)]
        target = min(table[place] for place in places) + weight
        for place in places:
            table[place] = max(table[place], target) if weight > 0 else table[place]
    return table


def ams(pairs, weights, depth, width, seed):
    table = np.zeros((depth, width), np.int64)
    for pair, weight in zip(pairs, weights, strict=True):
        for row in range(depth):
            sign = 1 if _word(pair, row, seed) >> 31 & 1 else -1
            table[row, column(pair, row, seed, width)] += sign * weight
    return table
