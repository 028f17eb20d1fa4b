"""The headers of Kafka messages: the place of one header's value in each of them.

The headers of a message are a count and, for each, the size of its name, the name, the size of its
value (-1 for none) and the value. Numbers are zigzag varints. Any bytes may stand there.
"""

import numpy as np
from numba import njit

from sde.kernels.compiling import kernel_of, load_byte

_LONGEST_VARINT = 10


@njit(inline="always")
def _varint(buffer, p, end):
    """(place after it, value); behind the end there are zeros."""
    value = np.uint64(0)
    shift = np.uint64(0)
    for _ in range(_LONGEST_VARINT):
        byte = load_byte(buffer, p) if p < end else np.int64(0)
        p += 1
        value |= np.uint64(byte & 0x7F) << shift
        shift += np.uint64(7)
        if not byte & 0x80:
            break
    return p, np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1))


@njit(inline="always")
def _is(buffer, p, name):
    for i in range(name.size):
        if load_byte(buffer, p + i) != name[i]:
            return False
    return True


@kernel_of("void(uint8[::1], int64[::1], int64[::1], uint8[::1], int64[::1], int64[::1])")
def find_header(buffer, starts, ends, name, value_starts, value_ends):
    """Where the value of the header with this name lies in the headers buffer[starts[i]:ends[i]].

    Of several with the name the last one counts. -1 and -1 if there is none, if it is null, and if
    the headers are damaged.
    """
    for i in range(starts.size):
        end = ends[i]
        found_start = found_end = np.int64(-1)
        value_starts[i] = value_ends[i] = -1
        if starts[i] < 0:
            continue
        p, left = _varint(buffer, starts[i], end)
        # A header has at least two bytes, so a count that is not true ends with the bytes.
        while left > 0 and p < end:
            p, size = _varint(buffer, p, end)
            if not 0 <= size <= end - p:
                break
            is_it = size == name.size and _is(buffer, p, name)
            p, size = _varint(buffer, p + size, end)
            if size > end - p:
                break
            if is_it:
                found_start = p if size >= 0 else -1
                found_end = p + size if size >= 0 else -1
            p += max(size, 0)
            left -= 1
        if left == 0 and p <= end:
            value_starts[i] = found_start
            value_ends[i] = found_end
