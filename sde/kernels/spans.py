"""Pieces of a buffer, copied one after the other into another."""

from sde.kernels.compiling import kernel


@kernel
def gather_spans(buffer, starts, ends, out, offsets):
    """out[offsets[k]:offsets[k + 1]] = buffer[starts[k]:ends[k]]."""
    for k in range(starts.size):
        start = starts[k]
        at = offsets[k]
        for j in range(ends[k] - start):
            out[at + j] = buffer[start + j]
