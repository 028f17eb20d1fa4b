"""Copying texts between buffers."""

from numba import njit


@njit(cache=True, nogil=True)
def gather(source, source_offsets, indices, out, out_offsets):
    """Text k of `out` = text indices[k] of `source`."""
    for k in range(indices.size):
        start = source_offsets[indices[k]]
        at = out_offsets[k]
        for j in range(out_offsets[k + 1] - at):
            out[at + j] = source[start + j]
