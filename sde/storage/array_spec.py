"""What an array of a store is: its name, its type, and the shape of a row."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike


class ArraySpec(NamedTuple):
    """`name` is that within the group."""

    name: str
    dtype: np.dtype[Any]
    row: tuple[int, ...]

    @classmethod
    def of(cls, name: str, dtype: DTypeLike, row: tuple[int, ...]) -> tuple[str, Self]:
        """The group of a store's array, and what the array is there."""
        group, _, rest = name.partition(".")
        return group, cls(rest, np.dtype(dtype), row)

    def name_in(self, group: str) -> str:
        """What a store calls the array."""
        return f"{group}.{self.name}" if self.name else group

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.row)

    @property
    def key(self) -> str:
        """A text that says it all: what the array is called in a folder or a directory.

        >>> group, spec = ArraySpec.of("bank.a.table", np.int64, (5, 272))
        >>> group, spec.key, ArraySpec.of_key(spec.key) == spec
        ('bank', 'a.table@<i8@5x272', True)
        """
        return f"{self.name}@{self.dtype.str}@{'x'.join(map(str, self.row))}"

    @classmethod
    def of_key(cls, key: str) -> Self:
        name, dtype, row = key.rsplit("@", 2)
        return cls(name, np.dtype(dtype), tuple(map(int, filter(None, row.split("x")))))
