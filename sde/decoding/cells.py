"""What the kernels of Avro and Protobuf put into cells becomes columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sde.tuples.column import Coded
from synopses.texts import Texts

_TRUTHS = Texts.of(["false", "true"])


def truths(words: NDArray[np.int64]) -> Coded:
    """0 and 1 as the texts they are in a column."""
    return Coded(_TRUTHS, words.astype(np.int32))


def byte_texts(data: Texts) -> Texts:
    """A character for each byte: those from 128 on take two bytes as UTF-8.

    >>> list(byte_texts(Texts(np.array([97, 233], np.uint8), np.array([0, 1, 2]))))
    ['a', 'é']
    """
    high = np.zeros(len(data.buffer) + 1, np.int64)
    np.cumsum(data.buffer >= 0x80, out=high[1:])
    if not high[-1]:
        return data
    buffer = np.frombuffer(bytearray(data.buffer.tobytes().decode("latin-1").encode()), np.uint8)
    return Texts(buffer, data.offsets + high[data.offsets])
