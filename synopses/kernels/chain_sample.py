"""Samples of the last `window` items over a bank.

A slot is a list of records in the order they came: rows of words priority, number of the item,
value, time, length of the text, from word 5 on the text (`cells`: the same memory in bytes), and at
last further values.
A record can be dropped once `k` later ones have higher priority: it will never be among the k
highest of a window again. That is checked for all records together whenever the list is full.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _mix(x):
    """The finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def _sift_down(heap, size):
    """Restore the heap (smallest first) after its first element was replaced."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[at] <= heap[child]:
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@njit(cache=True, nogil=True)
def _prune(records, held, slot, oldest, k, heap, keep):
    """Drop records that left the window, or can never be in the sample again."""
    size = 0
    n_kept = 0
    for entry in range(held[slot] - 1, -1, -1):
        priority = records[slot, entry, 0]
        keep[entry] = np.int64(records[slot, entry, 1]) >= oldest
        if not keep[entry]:
            continue
        if size < k:
            heap[size] = priority
            at = size
            while at > 0 and heap[at] < heap[(at - 1) // 2]:
                parent = (at - 1) // 2
                heap[at], heap[parent] = heap[parent], heap[at]
                at = parent
            size += 1
        elif priority > heap[0]:
            heap[0] = priority
            _sift_down(heap, size)
        else:
            keep[entry] = False
            continue
        n_kept += 1
    # The list has room to spare for all that can be kept, but for a chance below 1e-9; then the
    # oldest go, which are the next to leave the window.
    surplus = max(0, n_kept - (records.shape[1] - 1))
    at = 0
    for entry in range(held[slot]):
        if not keep[entry]:
            continue
        if surplus > 0:
            surplus -= 1
            continue
        for word in range(records.shape[2]):
            records[slot, at, word] = records[slot, entry, word]
        at += 1
    for entry in range(at, held[slot]):
        for word in range(records.shape[2]):
            records[slot, entry, word] = 0
    held[slot] = at


@njit(cache=True, nogil=True)
def add(
    records, cells, held, seen, slots,
    hashes, buffer, offsets, value_bits, times, k, window, seed, max_bytes,
):  # fmt: skip
    """Append each item with a priority that follows from what it is and when it came."""
    capacity = records.shape[1]
    heap = np.empty(k, np.uint64)
    keep = np.empty(capacity, np.bool_)
    for i in range(slots.size):
        slot = slots[i]
        seen[slot] += 1
        if held[slot] == capacity:
            _prune(records, held, slot, seen[slot] - window + 1, k, heap, keep)
        at = held[slot]
        held[slot] = at + 1
        number = np.uint64(seen[slot])
        priority = _mix(number * np.uint64(0x9E3779B97F4A7C15) + seed) ^ hashes[i, 0]
        records[slot, at, 0] = _mix(_mix(priority + times[i]) ^ value_bits[i, 0])
        records[slot, at, 1] = number
        records[slot, at, 2] = value_bits[i, 0]
        records[slot, at, 3] = times[i]
        start = offsets[i]
        length = offsets[i + 1] - start
        records[slot, at, 4] = np.uint64(length)
        for j in range(min(length, max_bytes)):
            cells[slot, at, 40 + j] = buffer[start + j]
        for j in range(1, value_bits.shape[1]):
            records[slot, at, records.shape[2] - value_bits.shape[1] + j] = value_bits[i, j]
