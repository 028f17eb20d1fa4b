"""Lists of texts as JSON, many at once: the text form of a key that several fields make."""

import numpy as np
from numba import njit

_QUOTE, _BACKSLASH, _OPEN, _COMMA = 34, 92, 91, 44
_SHORT = np.zeros(32, np.uint8)  # the letter that stands for a control character, 0 for none
for _code, _letter in ((8, "b"), (9, "t"), (10, "n"), (12, "f"), (13, "r")):
    _SHORT[_code] = ord(_letter)
_HEXADECIMAL = np.frombuffer(b"0123456789abcdef", np.uint8)


@njit(cache=True, nogil=True)
def measure(buffer, offsets, sizes):
    """Add to sizes[i] the bytes that `put` writes for text i."""
    for i in range(sizes.size):
        size = 3  # two quotes, and what stands before the first
        for p in range(offsets[i], offsets[i + 1]):
            byte = buffer[p]
            if byte == _QUOTE or byte == _BACKSLASH:
                size += 2
            elif byte < 32:
                size += 2 if _SHORT[byte] else 6
            else:
                size += 1
        sizes[i] += size


@njit(cache=True, nogil=True)
def put(buffer, offsets, is_first, out, places):
    """Write text i at out[places[i]:], quoted; `places` goes on behind it."""
    for i in range(places.size):
        at = places[i]
        out[at] = _OPEN if is_first else _COMMA
        out[at + 1] = _QUOTE
        at += 2
        for p in range(offsets[i], offsets[i + 1]):
            byte = buffer[p]
            if byte == _QUOTE or byte == _BACKSLASH:
                out[at] = _BACKSLASH
                out[at + 1] = byte
                at += 2
            elif byte >= 32:
                out[at] = byte
                at += 1
            elif _SHORT[byte]:
                out[at] = _BACKSLASH
                out[at + 1] = _SHORT[byte]
                at += 2
            else:
                out[at] = _BACKSLASH
                out[at + 1] = 117  # u
                out[at + 2] = 48
                out[at + 3] = 48
                out[at + 4] = _HEXADECIMAL[byte >> 4]
                out[at + 5] = _HEXADECIMAL[byte & 15]
                at += 6
        out[at] = _QUOTE
        places[i] = at + 1
