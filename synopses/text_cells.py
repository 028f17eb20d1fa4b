"""Texts in cells of fixed width, as synopses with a fixed layout keep them.

A cell holds the first bytes of a text; its length is kept beside it. A longer text is cut for
display only: what tells keys apart is their hash.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synopses.hashing import hash_texts
from synopses.texts import Texts


def cell_text(cell: NDArray[np.uint8], length: int) -> str:
    """The text of a cell, with an ellipsis where it was cut.

    >>> cell = np.frombuffer("Müller"[:5].encode(), np.uint8)
    >>> cell_text(cell, 6), cell_text(cell, 7), cell_text(cell[:2], 7)
    ('Mülle', 'Mülle…', 'M…')
    """
    shown = cell[:length].tobytes().decode(errors="ignore")
    return shown + "…" if length > cell.size else shown


def cells_fit_keys(
    cells: NDArray[np.uint8], lengths: NDArray[np.int64], keys: NDArray[np.uint64]
) -> bool:
    """Whether every text that is not cut has the hash it is kept under."""
    if (lengths < 0).any():
        return False
    whole = np.flatnonzero(lengths <= cells.shape[1])
    offsets = np.zeros(whole.size + 1, np.int64)
    np.cumsum(lengths[whole], out=offsets[1:])
    inside = np.arange(cells.shape[1]) < lengths[whole, None]
    hashes = hash_texts(Texts(np.ascontiguousarray(cells[whole][inside]), offsets))
    return bool((hashes == keys[whole]).all())
