"""Counters of the heaviest keys over a bank: SpaceSaving that evicts half at a time.

An entry of a slot is a row of `keys`, `upper`, `error`, `lengths` and `texts`; entries stand in
the order they came. `index` is a hash table by linear probing that holds entry number + 1.
Every entry's `upper` is above the slot's `floor`; a key without entry weighs at most `floor`.
"""

import numpy as np
from numba import njit

_MOST_UNITS = 2**62


@njit(cache=True, nogil=True)
def _find(keys, index, slot, h1, h2):
    """Where in the index a key is, or the empty place where it would be."""
    mask = index.shape[1] - 1
    at = np.int64(h2 & np.uint64(mask))
    while True:
        entry = index[slot, at] - 1
        if entry < 0 or (keys[slot, entry, 0] == h1 and keys[slot, entry, 1] == h2):
            return at
        at = (at + 1) & mask


@njit(cache=True, nogil=True)
def rebuild(keys, index, held, slot):
    """The index of a slot anew from its entries."""
    for at in range(index.shape[1]):
        index[slot, at] = 0
    for entry in range(held[slot]):
        at = _find(keys, index, slot, keys[slot, entry, 0], keys[slot, entry, 1])
        index[slot, at] = entry + 1


@njit(cache=True, nogil=True)
def _smallest(numbers, rank):
    """The number that has `rank` others before it when sorted (quickselect; reorders)."""
    low, high = 0, numbers.size - 1
    while low < high:
        pivot = numbers[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while numbers[i] < pivot:
                i += 1
            while numbers[j] > pivot:
                j -= 1
            if i <= j:
                numbers[i], numbers[j] = numbers[j], numbers[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return numbers[rank]


@njit(cache=True, nogil=True)
def _evict(keys, upper, error, lengths, texts, index, held, floor, slot):
    """Raise the floor to the median and drop the entries at or below it."""
    numbers = np.empty(held[slot], np.int64)
    for entry in range(held[slot]):
        numbers[entry] = upper[slot, entry]
    floor[slot] = _smallest(numbers, held[slot] // 2)
    kept = 0
    for entry in range(held[slot]):
        if upper[slot, entry] <= floor[slot]:
            continue
        keys[slot, kept, 0] = keys[slot, entry, 0]
        keys[slot, kept, 1] = keys[slot, entry, 1]
        upper[slot, kept] = upper[slot, entry]
        error[slot, kept] = error[slot, entry]
        lengths[slot, kept] = lengths[slot, entry]
        for j in range(texts.shape[2]):
            texts[slot, kept, j] = texts[slot, entry, j]
        kept += 1
    for entry in range(kept, held[slot]):
        keys[slot, entry, 0] = 0
        keys[slot, entry, 1] = 0
        upper[slot, entry] = 0
        error[slot, entry] = 0
        lengths[slot, entry] = 0
        for j in range(texts.shape[2]):
            texts[slot, entry, j] = 0
    held[slot] = kept
    rebuild(keys, index, held, slot)


@njit(cache=True, nogil=True)
def add(
    keys, upper, error, lengths, texts, index, held, floor, total,
    slots, hashes, buffer, offsets, weights,
):  # fmt: skip
    """Count each weight above 0 for its key; a new key may evict lighter ones."""
    capacity, width = texts.shape[1], texts.shape[2]
    for i in range(slots.size):
        slot = slots[i]
        weight = min(weights[i], _MOST_UNITS - total[slot])
        if weight <= 0:
            continue
        total[slot] += weight
        h1, h2 = hashes[i, 0], hashes[i, 1]
        at = _find(keys, index, slot, h1, h2)
        if index[slot, at] > 0:
            upper[slot, index[slot, at] - 1] += weight
            continue
        if held[slot] == capacity:
            _evict(keys, upper, error, lengths, texts, index, held, floor, slot)
            at = _find(keys, index, slot, h1, h2)
        entry = held[slot]
        held[slot] = entry + 1
        index[slot, at] = entry + 1
        keys[slot, entry, 0] = h1
        keys[slot, entry, 1] = h2
        upper[slot, entry] = floor[slot] + weight
        error[slot, entry] = floor[slot]
        start = offsets[i]
        length = offsets[i + 1] - start
        lengths[slot, entry] = length
        for j in range(min(length, width)):
            texts[slot, entry, j] = buffer[start + j]


@njit(cache=True, nogil=True)
def entries_of(keys, index, hashes, out):
    """out[i] = the entry of key i in slot 0, or -1."""
    for i in range(hashes.shape[0]):
        out[i] = index[0, _find(keys, index, 0, hashes[i, 0], hashes[i, 1])] - 1
