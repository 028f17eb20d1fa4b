"""Groups: which tuples of a block go to the same synopsis of a layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The tuples of each stream, of each pane of each stream, or all together.

    Layers with the same object share what is made from it: see `sde.banks.selection`.
    """

    of_tuple: NDArray[np.int32]  # of each tuple: its group, -1 if it has none
    count: int

    def spread(self, slots: NDArray[np.int32]) -> NDArray[np.int32]:
        """The slot of each tuple, from the slot of each group; -1 for none."""
        return np.append(slots, np.int32(-1))[self.of_tuple]

    def sizes(self, rows: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """How many tuples each group has, or how many of some `rows`."""
        counted = self.of_tuple >= 0 if rows is None else rows & (self.of_tuple >= 0)
        of_tuple = self.of_tuple if counted.all() else self.of_tuple[counted]
        return np.bincount(of_tuple, minlength=self.count)
