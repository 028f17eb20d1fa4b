"""Theta's inner loops over a bank of hash tables (slots, 2k); 0 is free. No checks, no objects.

`theta` is the hash from which on hashes are not kept; 0 stands for "none yet".
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _insert(table, hashed):
    """Put a hash into the table; was it new? The table always has free places."""
    last = np.uint64(table.size - 1)
    at = hashed & last
    while table[at] != 0:
        if table[at] == hashed:
            return False
        at = (at + np.uint64(1)) & last
    table[at] = hashed
    return True


@njit(cache=True, nogil=True)
def _prune(theta, count, table, slot):
    """Keep hashes below theta, at most the k smallest; theta becomes the next one's."""
    k = table.shape[1] // 2
    kept = np.sort(table[slot][table[slot] != 0])
    n = kept.size
    if theta[slot] != 0:
        n = np.searchsorted(kept, theta[slot])
    if n > k:
        theta[slot] = kept[k]
        n = k
    table[slot, :] = 0
    for i in range(n):
        _insert(table[slot], kept[i])
    count[slot] = n


@njit(cache=True, nogil=True)
def _offer(theta, count, table, slot, hashed):
    if hashed == 0 or (theta[slot] != 0 and hashed >= theta[slot]):
        return
    if _insert(table[slot], hashed):
        count[slot] += 1
        if count[slot] >= 3 * (table.shape[1] // 4):
            _prune(theta, count, table, slot)


@njit(cache=True, nogil=True)
def add(theta, count, table, slots, keys):
    """The hash of a key is the first word without its lowest bit, as in DataSketches."""
    for i in range(slots.size):
        _offer(theta, count, table, slots[i], keys[i, 0] >> np.uint64(1))


@njit(cache=True, nogil=True)
def merge(theta, count, table, limit, hashes):
    """Take over hashes (0: none) that were kept below `limit` (0: all were kept)."""
    if limit != 0 and (theta[0] == 0 or limit < theta[0]):
        theta[0] = limit
        _prune(theta, count, table, 0)
    for i in range(hashes.size):
        _offer(theta, count, table, 0, hashes[i])
