"""MurmurHash3 x64 128 of many byte strings at once; the same function as `mmh3.hash64`."""

import numpy as np
from numba import njit

_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)
_FMIX1 = np.uint64(0xFF51AFD7ED558CCD)
_FMIX2 = np.uint64(0xC4CEB9FE1A85EC53)
_EIGHT = np.uint64(8)


@njit(cache=True, nogil=True, inline="always")
def _rotl(x, r):
    return (x << np.uint64(r)) | (x >> np.uint64(64 - r))


@njit(cache=True, nogil=True, inline="always")
def _fmix(k):
    k ^= k >> np.uint64(33)
    k *= _FMIX1
    k ^= k >> np.uint64(33)
    k *= _FMIX2
    return k ^ (k >> np.uint64(33))


@njit(cache=True, nogil=True, inline="always")
def _eight(buffer, at):
    """Eight bytes, little-endian: written out, so that the compiler makes one load of it."""
    return (
        np.uint64(buffer[at])
        | np.uint64(buffer[at + np.uint64(1)]) << np.uint64(8)
        | np.uint64(buffer[at + np.uint64(2)]) << np.uint64(16)
        | np.uint64(buffer[at + np.uint64(3)]) << np.uint64(24)
        | np.uint64(buffer[at + np.uint64(4)]) << np.uint64(32)
        | np.uint64(buffer[at + np.uint64(5)]) << np.uint64(40)
        | np.uint64(buffer[at + np.uint64(6)]) << np.uint64(48)
        | np.uint64(buffer[at + np.uint64(7)]) << np.uint64(56)
    )


@njit(cache=True, nogil=True, inline="always")
def _word(buffer, at, count):
    """`count` bytes from `at`, 1 to 8: a load and a mask, but byte by byte at the buffer's end."""
    if at + _EIGHT <= np.uint64(buffer.size):
        return _eight(buffer, at) & (np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 8 * count))
    word = np.uint64(0)
    for i in range(count):
        word |= np.uint64(buffer[at + np.uint64(i)]) << np.uint64(8 * i)
    return word


@njit(cache=True, nogil=True)
def hash_spans(buffer, starts, ends, seed, out):
    """out[i] = the two words of the hash of buffer[starts[i]:ends[i]]."""
    for i in range(starts.size):
        # Unsigned places: a signed one is checked for being negative at every byte.
        at = np.uint64(starts[i])
        end = np.uint64(ends[i])
        size = end - at
        h1 = seed
        h2 = seed
        while end - at >= np.uint64(16):
            k1 = _rotl(_eight(buffer, at) * _C1, 31) * _C2
            h1 = (_rotl(h1 ^ k1, 27) + h2) * np.uint64(5) + np.uint64(0x52DCE729)
            k2 = _rotl(_eight(buffer, at + _EIGHT) * _C2, 33) * _C1
            h2 = (_rotl(h2 ^ k2, 31) + h1) * np.uint64(5) + np.uint64(0x38495AB5)
            at += np.uint64(16)
        left = np.int64(end - at)
        if left > 8:
            h2 ^= _rotl(_word(buffer, at + _EIGHT, left - 8) * _C2, 33) * _C1
        if left > 0:
            h1 ^= _rotl(_word(buffer, at, min(left, 8)) * _C1, 31) * _C2
        h1 ^= size
        h2 ^= size
        h1 += h2
        h2 += h1
        h1 = _fmix(h1)
        h2 = _fmix(h2)
        h1 += h2
        out[i, 0] = h1
        out[i, 1] = h2 + h1
