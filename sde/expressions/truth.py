"""True, false or missing, for each row: the three-valued logic of SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.expressions.tree import Comparator
from sde.kernels.numbers import NOT_COMPARABLE
from sde.tuples.column import Coded, Column
from synopses.texts import Texts

Orders = NDArray[np.int8]  # -1, 0, 1 or NOT_COMPARABLE
_HOLDS: dict[Comparator, Callable[[Orders], NDArray[Any]]] = {
    "==": lambda orders: orders == 0,
    "!=": lambda orders: orders != 0,
    "<": lambda orders: orders < 0,
    "<=": lambda orders: orders <= 0,
    ">": lambda orders: orders > 0,
    ">=": lambda orders: orders >= 0,
}
_WORDS = Texts.of(["false", "true"])


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """No row is both; one that is neither is missing."""

    true: NDArray[np.bool_]
    false: NDArray[np.bool_]

    @classmethod
    def constant(cls, value: bool, rows: int) -> Truth:
        return cls.known(np.full(rows, value))

    @classmethod
    def known(cls, true: NDArray[np.bool_]) -> Truth:
        """Missing nowhere."""
        return cls(true, ~true)

    @classmethod
    def of_orders(cls, comparator: Comparator, orders: Orders) -> Truth:
        known, found = orders != NOT_COMPARABLE, _HOLDS[comparator](orders)
        return cls(known & found, known & ~found)

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.true & other.true, self.false | other.false)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.true | other.true, self.false & other.false)

    def __invert__(self) -> Truth:
        return Truth(self.false, self.true)

    def column(self) -> Column:
        """As the texts `true` and `false`, which is how fields hold them."""
        known = self.true | self.false
        words = Texts(_WORDS.buffer.copy(), _WORDS.offsets)  # kernels want writable arrays
        data = Coded(words, self.true.astype(np.int32))
        return Column(data, None if known.all() else known)
