"""Counts of items that stop at 2^62 instead of running over.

No stream has that many items, but states that were imported and merged may say so. They are not
refused: what can be merged must be readable afterwards. Answers call them saturated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST = 2**62


def add_counts(mine: NDArray[np.int64], theirs: NDArray[np.int64]) -> None:
    """Add counts to others, in place; those below 0 have run over and count as the most.

    >>> counts = np.array([1, 2**62, -5])
    >>> add_counts(counts, np.array([2, 2**62, 0]))
    >>> counts.tolist() == [3, 2**62, 2**62]
    True
    """
    ran_over = (mine < 0) | (theirs < 0)
    both = np.minimum(mine, MOST) + np.minimum(theirs, MOST)
    np.copyto(mine, np.where(ran_over | (both < 0), MOST, np.minimum(both, MOST)))


def are_too_many(counts: NDArray[np.int64]) -> bool:
    """Whether counts are saturated, or together too many to be summed up."""
    return bool((counts < 0).any()) or float(counts.sum(dtype=np.float64)) >= MOST
