"""Pieces of a buffer, copied one after the other into another."""

from sde.kernels.compiling import copy_word, kernel


@kernel
def gather_spans(buffer, starts, ends, out, offsets):
    """out[offsets[k]:offsets[k + 1]] = buffer[starts[k]:ends[k]].

    Eight bytes at a time: what is too much is written over by the piece that follows.
    """
    for k in range(starts.size):
        start = starts[k]
        at = offsets[k]
        size = ends[k] - start
        j = 0
        while j < size and start + j + 8 <= buffer.size and at + j + 8 <= out.size:
            copy_word(buffer, start + j, out, at + j)
            j += 8
        while j < size:
            out[at + j] = buffer[start + j]
            j += 1
