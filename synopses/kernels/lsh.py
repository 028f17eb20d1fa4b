"""Bitmaps of windows and their Hamming distances. No checks, no objects."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sign(pane, last, mean, energy, product, signature, varies, shares, touched, ticks):
    """The bitmaps of all windows a slot can be asked for, as if no further item came.

    Entry e is of the window that ends with pane - 2 + e. Bit r is set where row r of P gives
    more than 0 for the deviations from the window's mean.
    """
    ring, panes, rows = mean.shape[1], shares.shape[0], shares.shape[1]
    means = np.empty(panes)
    total = np.empty(rows)
    for slot in range(touched.size):
        if not touched[slot]:
            continue
        for entry in range(signature.shape[1]):
            end = pane[slot] - 2 + entry
            spread = 0.0
            for at in range(panes):
                number = end - panes + 1 + at
                means[at] = last[slot]
                if number <= pane[slot]:
                    means[at] = mean[slot, number % ring]
                    spread += energy[slot, number % ring]
            shift = 0.0
            for at in range(panes):
                shift += means[at] - means[0]
            centre = means[0] + shift / panes
            for row in range(rows):
                total[row] = 0.0
            for at in range(panes):
                number = end - panes + 1 + at
                above = means[at] - centre
                spread += ticks * above * above
                for row in range(rows):
                    total[row] += above * shares[number % panes, row]
                if number <= pane[slot]:
                    for row in range(rows):
                        total[row] += product[slot, number % ring, row]
            noise = 1e-13 * centre
            varies[slot, entry] = spread > ticks * panes * noise * noise
            for word in range(signature.shape[2]):
                bits = np.uint64(0)
                for bit in range(64):
                    if total[64 * word + bit] > 0.0:
                        bits |= np.uint64(1) << np.uint64(bit)
                signature[slot, entry, word] = bits


@njit(cache=True, nogil=True)
def _count(word):
    """Number of bits set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def near(queries, first, last, begins, ends, points, most, out):
    """Pairs (query, point) that differ in at most `most` bits; their number.

    Query i meets the points begins[i]:ends[i].
    """
    found = 0
    for i in range(first, last):
        for j in range(begins[i], ends[i]):
            differ = 0
            for word in range(points.shape[1]):
                differ += _count(queries[i, word] ^ points[j, word])
            if differ <= most:
                out[found, 0] = i
                out[found, 1] = j
                out[found, 2] = differ
                found += 1
    return found
