"""Cells: the pairs of stream and pane that occur in a block, and the cell of each tuple."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sde.banks.groups import Groups
from sde.kernels import panes as kernel

_SMALLEST_GRID = 1 << 16  # places a grid may have however few tuples there are
_PLACES_PER_TUPLE = 4


class Cells(NamedTuple):
    """In the order of streams, and of panes within a stream."""

    streams: NDArray[np.int64]  # of each cell: the index of its stream in the block
    panes: NDArray[np.int64]  # of each cell
    groups: Groups  # the tuples of each cell


def cells_of(panes: NDArray[np.int64], stream_of: NDArray[np.int32], streams: int) -> Cells:
    """The cells of a block, from the pane (or NO_PANE) and the stream of each tuple.

    Memory follows the tuples, whatever their streams and times: most blocks hold few panes, and
    all pairs that may occur make a small grid; where they do not, pairs are found by sorting.

    >>> pair = cells_of(np.array([7, 7, 10**9]), np.array([0, 1, 0], np.int32), 2)
    >>> pair.streams.tolist(), pair.panes.tolist(), pair.groups.of_tuple.tolist()
    ([0, 0, 1], [7, 1000000000, 7], [0, 2, 1])
    """
    low, high = kernel.bounds(panes)
    if low == kernel.NO_PANE:
        nothing = np.empty(0, np.int64)
        return Cells(nothing, nothing, Groups(np.full(len(panes), -1, np.int32), 0))
    width = int(high) - int(low) + 1
    if width * streams <= _SMALLEST_GRID + _PLACES_PER_TUPLE * len(panes):
        return _by_grid(panes, stream_of, streams, low, width)
    return _by_sorting(panes, stream_of)


def _by_grid(
    panes: NDArray[np.int64], stream_of: NDArray[np.int32], streams: int, low: int, width: int
) -> Cells:
    used = np.zeros(width * streams, np.bool_)
    kernel.mark(panes, stream_of, low, width, used)
    cells = np.flatnonzero(used)
    grid = np.full(len(used), -1, np.int32)
    grid[cells] = np.arange(len(cells))
    of_tuple = np.empty(len(panes), np.int32)
    kernel.fill(panes, stream_of, low, width, grid, of_tuple)
    return Cells(cells // width, low + cells % width, Groups(of_tuple, len(cells)))


def _by_sorting(panes: NDArray[np.int64], stream_of: NDArray[np.int32]) -> Cells:
    rows = np.flatnonzero(panes != kernel.NO_PANE)
    known, number = np.unique(panes[rows], return_inverse=True)
    pairs = stream_of[rows].astype(np.int64) * len(known) + number
    cells, place = np.unique(pairs, return_inverse=True)
    of_tuple = np.full(len(panes), -1, np.int32)
    of_tuple[rows] = place
    return Cells(cells // len(known), known[cells % len(known)], Groups(of_tuple, len(cells)))
