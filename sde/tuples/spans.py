"""Pieces of a buffer, as a column of texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.kernels import spans as kernel
from synopses.texts import Texts


def gather(buffer: NDArray[np.uint8], starts: NDArray[Any], ends: NDArray[Any]) -> Texts:
    """Text i = buffer[starts[i]:ends[i]], copied: the texts do not keep the buffer alive."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(ends - starts, out=offsets[1:])
    out = np.empty(offsets[-1], np.uint8)
    kernel.gather_spans(buffer, starts, ends, out, offsets)
    return Texts(out, offsets)
