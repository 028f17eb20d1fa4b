"""Items as named arrays and back, for the way through shared memory.

>>> items = Items.of(["a", "b"], values=[1, 2])
>>> from_arrays(to_arrays(items), 2).texts[1]
'b'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synopses import Items, Texts

_COLUMNS = ("keys", "values", "times", "ids")


def to_arrays(items: Items) -> dict[str, NDArray[Any]]:
    """The columns that are there; `sde.plugins.remote` places them in the region."""
    arrays = {name: getattr(items, name) for name in _COLUMNS if len(getattr(items, name))}
    if len(items.texts):
        start, end = items.texts.offsets[0], items.texts.offsets[-1]
        arrays["text_bytes"] = items.texts.buffer[start:end]
        arrays["text_offsets"] = items.texts.offsets - start
    return arrays


def from_arrays(arrays: Mapping[str, NDArray[Any]], size: int) -> Items:
    """The items again, in the plug-in's process; they share memory with the arrays."""
    return Items(
        keys=arrays.get("keys", np.empty((0, 2), np.uint64)),
        texts=Texts(
            arrays.get("text_bytes", np.empty(0, np.uint8)),
            arrays.get("text_offsets", np.zeros(1, np.int64)),
        ),
        values=arrays.get("values", np.empty(0)),
        times=arrays.get("times", np.empty(0, np.int64)),
        ids=arrays.get("ids", np.empty(0, np.uint64)),
        size=size,
    )
