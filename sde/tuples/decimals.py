"""Texts that are numbers, as float64: some programs send numbers as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sde.kernels import decimals as kernel
from sde.tuples.spans import gather
from synopses.texts import Texts


def text_numbers(texts: Texts) -> NDArray[np.float64]:
    """The number each text stands for; NaN if it is none, or too large to be one.

    Blanks around it are passed over; "true" is 1 and "false" is 0.

    >>> text_numbers(Texts.of(["110.11", " 2e3 ", "true", "EURUSD", "", "nan", "1e999"])).tolist()
    [110.11, 2000.0, 1.0, nan, nan, nan, nan]
    """
    out = np.empty(len(texts))
    starts, ends = texts.offsets[:-1].copy(), texts.offsets[1:].copy()
    hard = np.empty(len(texts), np.int64)
    hard = hard[: kernel.parse_decimals(texts.buffer, starts, ends, out, hard)]
    if len(hard):
        out[hard] = long_decimals(texts.buffer, starts[hard], ends[hard])
        out[np.isinf(out)] = np.nan
    return out


def long_decimals(
    buffer: NDArray[np.uint8], starts: NDArray[Any], ends: NDArray[Any]
) -> NDArray[np.float64]:
    """Decimal numbers of any length, correctly rounded; infinite if too large.

    Arrow's parser does this right for many digits, at ten times the speed of `float`.
    """
    texts = gather(buffer, starts, ends)
    column = pa.LargeStringArray.from_buffers(
        len(texts), pa.py_buffer(texts.offsets), pa.py_buffer(texts.buffer)
    )
    numbers: NDArray[np.float64] = column.cast(pa.float64()).to_numpy()
    return numbers
