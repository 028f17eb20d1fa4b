"""Pairs of near unit vectors, and correlations of windows kept in bytes. No checks, no objects."""

from typing import NamedTuple

import numpy as np
from numba import njit

GRID_AXES = 3
SHORT_AXES = 10
TILE = 32  # points that a query is compared with at once: four vectors of eight floats
SLACK = 1e-5  # many times what the rounding of a short bound can be


class Points(NamedTuple):
    """Unit vectors (head, tail); those that are searched lie in the order of their cells.

    short: the first axes and the length of the rest, in 4 bytes each; tiles: the same, axis by
    axis for each TILE points, filled up with zeros.
    """

    heads: np.ndarray  # (n, axes)
    tails: np.ndarray  # (n,)
    short: np.ndarray  # (n, SHORT_AXES + 1)
    tiles: np.ndarray  # (tiles, SHORT_AXES + 1, TILE)


class Grid(NamedTuple):
    """Cell c has the points starts[c]:starts[c + 1].

    folded: opposite vectors lie in the same cell, and count as near.
    """

    starts: np.ndarray
    width: float
    cells: int  # along one axis
    folded: bool


@njit(cache=True, nogil=True)
def _cell(x, width, cells, folded):
    along = abs(x) if folded else x + 1.0
    return min(max(np.int64(along / width), 0), cells - 1)


@njit(cache=True, nogil=True)
def sort_into_cells(heads, grid, order):
    """Order points by their cell on the first three axes."""
    starts = grid.starts
    keys = np.empty(heads.shape[0], np.int64)
    for i in range(heads.shape[0]):
        key = np.int64(0)
        for axis in range(GRID_AXES):
            place = _cell(heads[i, axis], grid.width, grid.cells, grid.folded)
            key = key * grid.cells + place
        keys[i] = key
        starts[key + 1] += 1
    for c in range(starts.size - 1):
        starts[c + 1] += starts[c]
    free = starts.copy()
    for i in range(heads.shape[0]):
        order[free[keys[i]]] = i
        free[keys[i]] += 1


@njit(cache=True, nogil=True, inline="always")
def _can_be_near(query, tile, folded, least, bounds):
    """Upper bounds for the points of a tile; whether any reaches `least`.

    Nothing but sums and an `or`: only so does the compiler do eight points at once.
    """
    near = False
    for k in range(TILE):
        inner = np.float32(0.0)
        for axis in range(SHORT_AXES):
            inner += query[axis] * tile[axis, k]
        bound = (abs(inner) if folded else inner) + query[SHORT_AXES] * tile[SHORT_AXES, k]
        bounds[k] = bound
        near |= bound >= least
    return near


@njit(cache=True, nogil=True)
def near(queries, points, grid, least, later, first, out):
    """Pairs (query, point) whose inner product reaches `least`; their number, the next query.

    Begins with query `first` and ends when `out` may have no room for those of the next. Points
    are in the order of their cells, so the three neighbours on the last axis are one run. With
    `later` a query meets only the points after it: each pair of one set comes once.
    """
    starts, width, cells, folded = grid.starts, grid.width, grid.cells, grid.folded
    axes = points.heads.shape[1]
    short_least = np.float32(least - SLACK)
    bounds = np.empty(TILE, np.float32)
    found = 0
    for i in range(first, queries.heads.shape[0]):
        if found + points.heads.shape[0] > out.shape[0]:
            return found, i
        head, tail, short = queries.heads[i], queries.tails[i], queries.short[i]
        x = _cell(head[0], width, cells, folded)
        y = _cell(head[1], width, cells, folded)
        z = _cell(head[2], width, cells, folded)
        for cx in range(max(x - 1, 0), min(x + 2, cells)):
            for cy in range(max(y - 1, 0), min(y + 2, cells)):
                row = (cx * cells + cy) * cells
                begin = starts[row + max(z - 1, 0)]
                end = starts[row + min(z + 2, cells)]
                if later:
                    begin = max(begin, i + 1)
                if begin >= end:
                    continue
                # Unsigned: for a place that may count from the end the compiler does one at a time.
                for t in range(np.uintp(begin // TILE), np.uintp((end - 1) // TILE + 1)):
                    if not _can_be_near(short, points.tiles[t], folded, short_least, bounds):
                        continue
                    for k in range(TILE):
                        j = np.int64(t) * TILE + k
                        if bounds[k] < short_least or j < begin or j >= end:
                            continue
                        inner = 0.0
                        for axis in range(axes):
                            inner += head[axis] * points.heads[j, axis]
                        inner = abs(inner) if folded else inner
                        if inner + tail * points.tails[j] >= least:
                            out[found, 0] = i
                            out[found, 1] = j
                            found += 1
    return found, queries.heads.shape[0]


@njit(cache=True, nogil=True)
def _dot(a, b):
    total = np.int32(0)
    for t in range(a.size):
        total = np.int32(total + np.int16(np.int16(a[t]) * np.int16(b[t])))
    return total


@njit(cache=True, nogil=True)
def kept_correlations(a, b, ticks, places_a, places_b, units_a, units_b, means_a, means_b, out):
    """Correlation of windows a[c] and b[c] from the ticks kept in bytes.

    units: a pane's scale, means: a pane's mean times sqrt(its ticks); both as shares of the
    length of the window's deviations from its mean.
    """
    for c in range(a.size):
        i, j = a[c], b[c]
        total = 0.0
        for p in range(places_a.size):
            total += means_a[i, p] * means_b[j, p]
            unit = units_a[i, p] * units_b[j, p]
            if unit > 0.0:
                total += unit * _dot(ticks[i, places_a[p]], ticks[j, places_b[p]])
        out[c] = total
