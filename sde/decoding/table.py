"""Records of any format as columns, before a source's mapping makes tuples of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sde.tuples.column import Column


@dataclass(frozen=True, slots=True)
class Table:
    """Every format has a reader that gives tables; row i is one record.

    columns     the scalar values by path: names joined by points, an element of an array by its
                number ("trader.id", "legs[0].price"). A nested value has no column of its own; a
                null, and a value that the record lacks, is missing (`Column.valid`).
    message_of  index of the message that the record is from
    lines       its place in that message, 0 for the first
    """

    columns: dict[str, Column]
    message_of: NDArray[np.int64]
    lines: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.message_of)
