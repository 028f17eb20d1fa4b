"""Numbers of each row, exactly where they are whole and within int64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sde.expressions.functions import Function
from sde.expressions.tree import Operator
from sde.expressions.truth import Orders
from sde.kernels import numbers as kernel
from sde.tuples.column import Coded, Column
from sde.tuples.decimals import text_numbers
from synopses.texts import Texts

_OPERATIONS: dict[Operator, int] = {
    "+": kernel.ADD,
    "-": kernel.SUBTRACT,
    "*": kernel.MULTIPLY,
    "/": kernel.DIVIDE,
    "%": kernel.REMAINDER,
}
_FUNCTIONS = {
    Function.ABS: kernel.ABSOLUTE,
    Function.FLOOR: kernel.FLOOR,
    Function.ROUND: kernel.ROUND,
    Function.SQRT: kernel.SQRT,
    Function.LOG: kernel.LOG,
}
LARGEST_EXACT = 2**53  # up to here float64 has every whole number


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A number that is whole and within int64 is exact, however it was kept or computed: results
    of + - * / % that are so are exact; all others are those of float64. What is not a finite
    number (1 / 0, log(0), beyond float64) is missing. The remainder has the sign of the dividend.
    """

    kinds: NDArray[np.uint8]
    words: NDArray[np.int64]  # seen as float64 where the kind is DECIMAL

    @classmethod
    def _empty(cls, rows: int) -> Numbers:
        return cls(np.empty(rows, np.uint8), np.zeros(rows, np.int64))

    @property
    def _arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.float64]]:
        return self.kinds, self.words, self.decimals

    @property
    def decimals(self) -> NDArray[np.float64]:
        return self.words.view(np.float64)

    @property
    def present(self) -> NDArray[np.bool_]:
        return np.not_equal(self.kinds, kernel.MISSING)

    @classmethod
    def constant(cls, value: int | float, rows: int) -> Numbers:
        if isinstance(value, float):
            words = np.full(rows, value).view(np.int64)
            return cls(np.full(rows, kernel.DECIMAL, np.uint8), words)
        return cls(np.full(rows, kernel.WHOLE, np.uint8), np.full(rows, value, np.int64))

    @classmethod
    def of(cls, column: Column) -> Numbers:
        """The numbers that the values stand for, also as texts; missing where they are none."""
        data = column.data
        if isinstance(data, Coded):
            distinct = cls._of_texts(data.texts)
            numbers = cls(distinct.kinds[data.codes], distinct.words[data.codes])
        elif isinstance(data, Texts):
            numbers = cls._of_texts(data)
        elif data.dtype == np.int64:
            numbers = cls(np.full(len(data), kernel.WHOLE, np.uint8), data.view(np.int64))
        else:
            numbers = cls._of_floats(data.view(np.float64))
        if column.valid is not None:
            numbers.kinds[~column.valid] = kernel.MISSING
        return numbers

    @classmethod
    def _of_floats(cls, floats: NDArray[np.float64]) -> Numbers:
        numbers = cls._empty(len(floats))
        kernel.from_floats(floats, *numbers._arrays)
        return numbers

    @classmethod
    def _of_texts(cls, texts: Texts) -> Numbers:
        floats = text_numbers(texts)
        numbers = cls._of_floats(floats)
        kernel.from_digits(texts.buffer, texts.offsets, floats, numbers.kinds, numbers.words)
        return numbers

    def arithmetic(self, operator: Operator, other: Numbers) -> Numbers:
        out = self._empty(len(self.kinds))
        operation = _OPERATIONS[operator]
        kernel.arithmetic(operation, *self._arrays, *other._arrays, *out._arrays)
        return out

    def negative(self) -> Numbers:
        return self._function(kernel.NEGATE)

    def function(self, function: Function) -> Numbers:
        return self._function(_FUNCTIONS[function])

    def _function(self, operation: int) -> Numbers:
        out = self._empty(len(self.kinds))
        kernel.function(operation, *self._arrays, *out._arrays)
        return out

    def orders(self, other: Numbers) -> Orders:
        orders = np.empty(len(self.kinds), np.int8)
        kernel.compare(*self._arrays, *other._arrays, orders)
        return orders
