"""Records as rows of words: what the samplers keep and give back.

word 0 rank or priority | 1 identity or number | 2 value | 3 time | 4 length of the key | key
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synopses.text_cells import cell_text

_WORDS = 5


def words(max_key_bytes: int) -> int:
    """Words of a record whose key has at most that many bytes."""
    return _WORDS + math.ceil(max_key_bytes / 8)


def record_values(records: NDArray[np.uint64]) -> NDArray[np.float64]:
    return records[:, 2].copy().view(np.float64)


def shown(records: NDArray[np.uint64], max_key_bytes: int) -> list[dict[str, Any]]:
    """Key, value and time of each record."""
    rows = np.ascontiguousarray(records)
    cells = rows.view(np.uint8)[:, 8 * _WORDS :][:, :max_key_bytes]
    return [
        {"key": cell_text(cell, int(length)), "value": float(value), "time": int(time)}
        for cell, length, value, time in zip(
            cells, rows[:, 4], record_values(rows), rows[:, 3].view(np.int64), strict=True
        )
    ]


def records_are_sound(records: NDArray[np.uint64], count: int) -> bool:
    """Whether values are finite, lengths possible, and nothing stands behind the last record."""
    filled = records[:count]
    return bool(
        np.isfinite(record_values(filled)).all()
        and (filled[:, 4] < 2**31).all()
        and not records[count:].any()
    )
