"""Whether bytes are UTF-8: for kernels of every format, see `sde.kernels.compiling`."""

import numpy as np
from numba import njit

from sde.kernels.compiling import kernel, load_byte, load_word

HIGH_BITS = np.uint64(0x8080808080808080)  # of eight bytes; none is set where all are ASCII


@kernel
def is_utf8(buffer, p, end):
    while p < end:
        if p + 8 <= end and not load_word(buffer, p) & HIGH_BITS:
            p += 8
            continue
        lead = load_byte(buffer, p)
        if lead < 0x80:
            p += 1
            continue
        if 0xC2 <= lead < 0xE0 and p + 1 < end and load_byte(buffer, p + 1) & 0xC0 == 0x80:
            p += 2
            continue
        more = (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
        if more < 2 or lead > 0xF4 or p + more >= end:
            return False
        code = lead & (0x3F >> more)
        for i in range(1, more + 1):
            if load_byte(buffer, p + i) & 0xC0 != 0x80:
                return False
            code = (code << 6) | (load_byte(buffer, p + i) & 0x3F)
        # No long forms, no surrogates, nothing beyond Unicode.
        if (more == 2 and code < 0x800) or 0xD800 <= code <= 0xDFFF:
            return False
        if more == 3 and not 0x10000 <= code <= 0x10FFFF:
            return False
        p += more + 1
    return True


@njit(inline="always")
def is_text(buffer, p, end):
    """The same, for bytes that are mostly ASCII."""
    start = p
    seen = np.uint64(0)
    while p + 8 <= end:
        seen |= load_word(buffer, p)
        p += 8
    while p < end:
        seen |= np.uint64(load_byte(buffer, p))
        p += 1
    return not seen & HIGH_BITS or is_utf8(buffer, start, end)
