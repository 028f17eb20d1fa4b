"""One field of a block: a column of integers, decimal numbers or texts, some of them missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.kernels.distinct import renumber
from sde.tuples.decimals import text_numbers
from synopses.hashing import hash_texts, number_texts
from synopses.texts import Texts


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Texts that repeat: that of row i is texts[codes[i]]. Not every text need occur."""

    texts: Texts
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, indices: NDArray[np.int64]) -> Coded:
        """The rows at `indices`, in that order, with only the texts that occur in them."""
        return Coded(self.texts, self.codes.take(indices)).without_unused()

    def without_unused(self) -> Coded:
        """Only texts that occur, in order of first appearance."""
        codes, used = np.empty(len(self.codes), np.int32), np.empty(len(self.texts), np.int64)
        new_of = np.full(len(self.texts), -1, np.int32)
        used = used[: renumber(self.codes, codes, new_of, used)]
        return Coded(self.texts.take(used), codes)

    def written_out(self) -> Texts:
        """The text of each row."""
        return self.texts.take(self.codes.astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """int64, float64 or text values, perhaps coded; `valid` says which rows have one (None: all).

    >>> column = Column(Texts.of(["1.5", "x"]), np.array([True, False]))
    >>> column.numbers().tolist(), column.texts()[0]
    ([1.5, nan], '1.5')

    The type is only how values are kept: a value's text and number do not depend on the other
    rows of its block. So integers beyond 2**53 never stand among decimals, but with them in a
    column of texts. `true` and `false` are texts. What stands in a row without a value means
    nothing.
    """

    data: NDArray[np.int64] | NDArray[np.float64] | Texts | Coded
    valid: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.data)

    def texts(self) -> Texts:
        """The text form of each value, which is what keys are made of."""
        if isinstance(self.data, Coded):
            return self.data.written_out()
        return self.data if isinstance(self.data, Texts) else number_texts(self.data)

    def keys(self) -> NDArray[np.uint64]:
        """The hash of each value's text form, shape (n, 2)."""
        if isinstance(self.data, Coded):
            return hash_texts(self.data.texts).take(self.data.codes, axis=0)
        return hash_texts(self.texts())

    def numbers(self) -> NDArray[np.float64]:
        """Each value as a number; NaN where there is no value or it is not a number."""
        if isinstance(self.data, Coded):
            numbers = text_numbers(self.data.texts)[self.data.codes]
        elif isinstance(self.data, Texts):
            numbers = text_numbers(self.data)
        else:
            numbers = self.data.astype(np.float64)
        if self.valid is not None:
            numbers[~self.valid] = np.nan
        return numbers

    def take(self, indices: NDArray[np.int64]) -> Column:
        """The values at `indices`, in that order."""
        valid = None if self.valid is None else self.valid[indices]
        data: Any = self.data
        return Column(data.take(indices), None if valid is None or valid.all() else valid)

    @classmethod
    def missing(cls, rows: int) -> Column:
        """A field that no row has."""
        return cls(np.zeros(rows, np.int64), np.zeros(rows, np.bool_))
