"""How sure is a median of rows, each of which may fail on its own?"""

from __future__ import annotations

import math


def failure(rows: int, row_failure: float) -> float:
    """Chance that at least half of the rows fail; else the median lies within the rows' bound.

    >>> round(failure(1, 0.125), 3), round(failure(7, 0.125), 4)
    (0.125, 0.0062)
    """
    return sum(
        math.comb(rows, k) * row_failure**k * (1 - row_failure) ** (rows - k)
        for k in range((rows + 1) // 2, rows + 1)
    )


def rows_needed(delta: float, row_failure: float) -> int:
    """The smallest odd number of rows whose median fails with at most `delta`.

    >>> rows_needed(0.01, 0.125)
    7
    """
    rows = 1
    while failure(rows, row_failure) > delta:
        rows += 2
    return rows
