"""One of several columns for each row; numbers of mixed kinds as a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.expressions.numbers import LARGEST_EXACT, Numbers
from sde.kernels.numbers import WHOLE
from sde.tuples.column import Coded, Column
from synopses.texts import Texts


def number_column(numbers: Numbers) -> Column:
    """Integers if all are whole, else decimals, or texts if those would not be exact."""
    present, whole = numbers.present, numbers.kinds == WHOLE
    valid = None if present.all() else present
    if np.array_equal(whole, present):
        return Column(numbers.words, valid)
    large = whole & ((numbers.words > LARGEST_EXACT) | (numbers.words < -LARGEST_EXACT))
    if not large.any():
        return Column(np.where(whole, numbers.words.astype(np.float64), numbers.decimals), valid)
    decimals = np.where(whole, 0.0, numbers.decimals)
    both = [Column(numbers.words), Column(decimals)]
    return Column(_choose_texts(both, np.where(whole, 0, 1)), valid)


def choose(columns: Sequence[Column], which: NDArray[np.int64]) -> Column:
    """Row i of column which[i]."""
    at = np.arange(len(which))
    valid = np.stack([_valid(column) for column in columns])[which, at]
    if all(isinstance(column.data, np.ndarray) for column in columns):
        all_numbers = [Numbers.of(column) for column in columns]
        kinds = np.stack([n.kinds for n in all_numbers])[which, at]
        return number_column(Numbers(kinds, np.stack([n.words for n in all_numbers])[which, at]))
    return Column(_choose_texts(columns, which), None if valid.all() else valid)


def _valid(column: Column) -> NDArray[np.bool_]:
    return np.ones(len(column), np.bool_) if column.valid is None else column.valid


def _choose_texts(columns: Sequence[Column], which: NDArray[Any]) -> Coded:
    """No text is copied for a row: the texts of all columns, and which row has which."""
    coded = [
        c.data if isinstance(c.data, Coded) else Coded(c.texts(), np.arange(len(c), dtype=np.int32))
        for c in columns
    ]
    sizes = [len(c.texts) for c in coded]
    bases = np.cumsum([0, *sizes[:-1]])
    codes = np.stack([c.codes + base for c, base in zip(coded, bases, strict=True)])
    chosen = codes[which, np.arange(len(which))].astype(np.int32)
    lengths = np.concatenate([np.diff(c.texts.offsets) for c in coded])
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    buffers = [c.texts.buffer[c.texts.offsets[0] : c.texts.offsets[-1]] for c in coded]
    return Coded(Texts(np.concatenate(buffers), offsets), chosen)
