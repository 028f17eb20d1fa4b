"""Bottom-k samples over a bank: each slot's records sorted by rank.

A record is a row of words: rank (bits of a positive float64, which sort like the float), identity,
value, time, length of the text, from word 5 on the text, and at last further values. Two views of
the same memory come in: `records` in words and `cells` in bytes.
"""

import numpy as np
from numba import njit

_BLOCK = 256


@njit(cache=True, nogil=True)
def _mix(x):
    """The finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def identity(record_id, h1, time, value_bits, seed):
    """One number for a record: the same whenever and wherever it is read again."""
    x = _mix(record_id + np.uint64(0x9E3779B97F4A7C15)) ^ h1
    x = _mix(x + time) ^ value_bits
    return _mix(x + seed)


@njit(cache=True, nogil=True)
def _rank(whos, ranks, hashes, value_bits, times, ids, seed):
    """The identity of each record, and as a number above 0 and below 1."""
    for i in range(ids.size):
        whos[i] = identity(ids[i], hashes[i, 0], times[i], value_bits[i, 0], seed)
    for i in range(ids.size):
        ranks[i] = (np.float64(whos[i] >> np.uint64(11)) + 0.5) / 9007199254740992.0


@njit(cache=True, nogil=True)
def _precedes(rank, who, other_rank, other_who):
    return rank < other_rank or (rank == other_rank and who < other_who)


@njit(cache=True, nogil=True)
def _place(records, held, slot, rank, who):
    """How many records of the slot precede this one."""
    low, high = 0, held[slot]
    while low < high:
        middle = (low + high) // 2
        if _precedes(records[slot, middle, 0], records[slot, middle, 1], rank, who):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _open(records, held, slot, place):
    """Move what stands at `place` and behind it one further; the last falls out of a full slot."""
    if held[slot] < records.shape[1]:
        held[slot] += 1
    for entry in range(held[slot] - 1, place, -1):
        for word in range(records.shape[2]):
            records[slot, entry, word] = records[slot, entry - 1, word]


@njit(cache=True, nogil=True)
def _write(record, cell, value_bits, buffer, start, end, max_bytes):
    """The text of a record, and its values but the first."""
    record[4:] = 0
    record[4] = np.uint64(end - start)
    for j in range(min(end - start, max_bytes)):
        cell[40 + j] = buffer[start + j]
    for j in range(1, value_bits.size):
        record[record.size - value_bits.size + j] = value_bits[j]


@njit(cache=True, nogil=True)
def add(
    records, cells, held, slots,
    hashes, buffer, offsets, values, value_bits, times, ids, weighted, seed, max_bytes,
):  # fmt: skip
    """Keep the records of the smallest ranks: u / weight, u uniform by the record's identity.

    Block by block, first the ranks and then their places: without a branch between them several
    are computed at a time. Few records have a place in a slot that is full.
    """
    capacity = records.shape[1]
    whos = np.empty(_BLOCK, np.uint64)
    ranks = np.empty(_BLOCK, np.float64)
    rank_bits = ranks.view(np.uint64)
    for start in range(0, slots.size, _BLOCK):
        end = min(start + _BLOCK, slots.size)
        _rank(
            whos, ranks, hashes[start:end], value_bits[start:end], times[start:end], ids[start:end],
            seed,
        )  # fmt: skip
        for at in range(end - start):
            i = start + at
            slot = np.uintp(slots[i])
            if weighted:
                if values[i, 0] <= 0.0:
                    continue
                ranks[at] /= min(max(values[i, 0], 1e-100), 1e100)
            if held[slot] == capacity and rank_bits[at] > records[slot, capacity - 1, 0]:
                continue
            place = _place(records, held, slot, rank_bits[at], whos[at])
            if place == capacity:
                continue
            if place < held[slot] and records[slot, place, 1] == whos[at]:
                continue  # read again
            _open(records, held, slot, place)
            records[slot, place, 0] = rank_bits[at]
            records[slot, place, 1] = whos[at]
            records[slot, place, 2] = value_bits[i, 0]
            records[slot, place, 3] = times[i]
            _write(records[slot, place], cells[slot, place], value_bits[i],
                   buffer, offsets[i], offsets[i + 1], max_bytes)  # fmt: skip


@njit(cache=True, nogil=True)
def merge(records, held, others, n_others):
    """Fold the first records of `others` into slot 0."""
    capacity = records.shape[1]
    for other in range(n_others):
        place = _place(records, held, 0, others[other, 0], others[other, 1])
        if place == capacity:
            break
        if place < held[0] and records[0, place, 1] == others[other, 1]:
            continue
        _open(records, held, 0, place)
        for word in range(records.shape[2]):
            records[0, place, word] = others[other, word]
