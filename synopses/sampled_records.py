"""Records as rows of words: what the samplers keep and give back.

word 0 rank or priority | 1 identity or number | 2 value | 3 time | 4 length of the key | key |
further values
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synopses.errors import ParameterError
from synopses.items import Items
from synopses.text_cells import cell_text

_WORDS = 5


def words(max_key_bytes: int, fields: int) -> int:
    """Words of a record whose key has at most that many bytes."""
    return _WORDS + math.ceil(max_key_bytes / 8) + fields - 1


def value_columns(items: Items, fields: int) -> NDArray[np.float64]:
    """The values of items, a row each; -0.0 and 0.0 are one value."""
    values = items.values.reshape(len(items), -1)
    if values.shape[1] != fields:
        raise ParameterError("value", f"{values.shape[1]} fields", f"{fields} fields")
    return np.ascontiguousarray(values) + 0.0


def record_values(records: NDArray[np.uint64]) -> NDArray[np.float64]:
    return records[:, 2].copy().view(np.float64)


def _all_values(records: NDArray[np.uint64], fields: int) -> NDArray[np.float64]:
    further = range(records.shape[1] - fields + 1, records.shape[1])
    return records[:, [2, *further]].view(np.float64)


def shown(records: NDArray[np.uint64], max_key_bytes: int, fields: int) -> list[dict[str, Any]]:
    """Key, value (of several fields: values) and time of each record."""
    rows = np.ascontiguousarray(records)
    cells = rows.view(np.uint8)[:, 8 * _WORDS :][:, :max_key_bytes]
    values = _all_values(rows, fields).tolist()
    return [
        {
            "key": cell_text(cell, int(length)),
            **({"value": value[0]} if fields == 1 else {"values": value}),
            "time": int(time),
        }
        for cell, length, value, time in zip(
            cells, rows[:, 4], values, rows[:, 3].view(np.int64), strict=True
        )
    ]


def records_are_sound(records: NDArray[np.uint64], count: int, fields: int) -> bool:
    """Whether values are finite, lengths possible, and nothing stands behind the last record."""
    filled = records[:count]
    return bool(
        np.isfinite(_all_values(filled, fields)).all()
        and (filled[:, 4] < 2**31).all()
        and not records[count:].any()
    )
