"""KLL inner loops over a bank of compactors. No checks, no objects.

One row of `items` holds the levels one after the other, the top level first and level 0 last,
so that a new item is appended at the end. Level h has `sizes[h]` items of weight 2^h.
"""

import numpy as np
from numba import njit

_RUN = 16  # items that are sorted at a time; a power of two


@njit(cache=True, nogil=True)
def _mix(x):
    """The finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def _sort_run(run):
    """Batcher's odd-even merge sort of the first items: no branch that nobody could predict."""
    half = 1
    while half < _RUN:
        apart = half
        while apart:
            for block in range(apart % half, _RUN - apart, 2 * apart):
                for i in range(block, min(block + apart, _RUN - apart)):
                    if i ^ (i + apart) < 2 * half:  # both in one pair of halves
                        one, two = run[i], run[i + apart]
                        run[i] = one if one < two else two
                        run[i + apart] = two if one < two else one
            apart //= 2
        half *= 2


@njit(cache=True, nogil=True)
def _sort(items, slot, start, end, scratch):
    """Merge sort of sorted runs of 16, in place: level 0 is mostly that short."""
    for run in range(start, end, _RUN):
        size = min(_RUN, end - run)
        for i in range(_RUN):
            scratch[i] = items[slot, run + i] if i < size else np.inf
        _sort_run(scratch)
        for i in range(size):
            items[slot, run + i] = scratch[i]
    width = _RUN
    while width < end - start:
        for run in range(start, end - width, 2 * width):
            middle, stop = run + width, min(run + 2 * width, end)
            for i in range(run, middle):
                scratch[i - run] = items[slot, i]
            left, right, at = 0, middle, run
            while left < width:
                if right < stop and items[slot, right] < scratch[left]:
                    items[slot, at] = items[slot, right]
                    right += 1
                else:
                    items[slot, at] = scratch[left]
                    left += 1
                at += 1
        width *= 2


@njit(cache=True, nogil=True)
def _compact(items, bits, sizes, levels, held, coins, slot, caps, scratch):
    """Move half of the lowest full level one level up, doubling its weight."""
    top = levels[slot] - 1
    h = 0
    while h < top and sizes[slot, h] < caps[top - h]:
        h += 1
    if h == top:
        levels[slot] += 1
    start = 0
    for g in range(h + 1, levels[slot]):
        start += sizes[slot, g]
    size = sizes[slot, h]
    above = sizes[slot, h + 1]
    end = start + size
    if h == 0:
        _sort(items, slot, start, end, scratch)
    odd = size % 2
    half = size // 2
    # The coin depends on the data too, or all synopses of a bank would err in the same places.
    coins[slot] += np.uint64(1)
    toss = _mix(coins[slot] * np.uint64(0x9E3779B97F4A7C15) ^ bits[slot, start + half])
    survivor = start + odd + np.int64(toss >> np.uint64(63))
    at = start - above
    old = at
    for place in range(above + half):
        if survivor >= end or (old < start and items[slot, old] <= items[slot, survivor]):
            scratch[place] = items[slot, old]
            old += 1
        else:
            scratch[place] = items[slot, survivor]
            survivor += 2
    left_over = items[slot, start]
    for place in range(above + half):
        items[slot, at + place] = scratch[place]
    if odd:
        items[slot, start + half] = left_over
    for place in range(end, held[slot]):
        items[slot, place - half] = items[slot, place]
    for place in range(held[slot] - half, held[slot]):
        items[slot, place] = 0.0
    held[slot] -= half
    sizes[slot, h] = odd
    sizes[slot, h + 1] += half


@njit(cache=True, nogil=True)
def add(items, bits, sizes, levels, held, coins, n, least, most, slots, values, caps, rooms):
    """Append each value to level 0 of its slot, making room first where there is none."""
    scratch = np.empty(items.shape[1])
    for i in range(slots.size):
        slot = slots[i]
        value = values[i] + 0.0  # -0.0 and 0.0 are one value
        if n[slot] == 0:
            levels[slot] = 1
            least[slot] = value
            most[slot] = value
        elif value < least[slot]:
            least[slot] = value
        elif value > most[slot]:
            most[slot] = value
        if held[slot] >= rooms[levels[slot]]:
            _compact(items, bits, sizes, levels, held, coins, slot, caps, scratch)
        items[slot, held[slot]] = value
        held[slot] += 1
        sizes[slot, 0] += 1
        n[slot] += 1


@njit(cache=True, nogil=True)
def join(items_a, sizes_a, items_b, sizes_b, items, sizes):
    """Levels of two synopses level by level: sorted levels stay sorted, level 0 is appended."""
    a, b, at = 0, 0, 0
    for h in range(sizes.size - 1, -1, -1):
        end_a = a + sizes_a[h]
        end_b = b + sizes_b[h]
        while a < end_a or b < end_b:
            if b >= end_b or (a < end_a and (h == 0 or items_a[a] <= items_b[b])):
                items[at] = items_a[a]
                a += 1
            else:
                items[at] = items_b[b]
                b += 1
            at += 1
        sizes[h] = sizes_a[h] + sizes_b[h]


@njit(cache=True, nogil=True)
def shrink(items, bits, sizes, levels, held, coins, caps, rooms):
    """Compact slot 0 until it fits its room again."""
    scratch = np.empty(items.shape[1])
    while held[0] > rooms[levels[0]]:
        _compact(items, bits, sizes, levels, held, coins, 0, caps, scratch)
