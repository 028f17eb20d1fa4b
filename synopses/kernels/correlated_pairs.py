"""Pairs of near unit vectors, and correlations of windows kept in bytes. No checks, no objects."""

import numpy as np
from numba import njit

GRID_AXES = 3


@njit(cache=True, nogil=True)
def _cell(x, width, cells):
    return min(max(np.int64((x + 1.0) / width), 0), cells - 1)


@njit(cache=True, nogil=True)
def sort_into_cells(points, width, cells, starts, order):
    """Order points by their cell on the first three axes; cell c has starts[c]:starts[c + 1]."""
    keys = np.empty(points.shape[0], np.int64)
    for i in range(points.shape[0]):
        key = np.int64(0)
        for axis in range(GRID_AXES):
            key = key * cells + _cell(points[i, axis], width, cells)
        keys[i] = key
        starts[key + 1] += 1
    for c in range(starts.size - 1):
        starts[c + 1] += starts[c]
    free = starts.copy()
    for i in range(points.shape[0]):
        order[free[keys[i]]] = i
        free[keys[i]] += 1


@njit(cache=True, nogil=True)
def near(queries, first, last, points, starts, width, cells, reach, later, out):
    """Pairs (query, point) at most sqrt(reach) apart, of queries first to last; their number.

    Points are in the order of their cells, so the three neighbours on the last axis are one run.
    With `later` a query meets only the points after it: each pair of one set comes once.
    """
    size = queries.shape[1]
    found = 0
    for i in range(first, last):
        query = queries[i]
        x = _cell(query[0], width, cells)
        y = _cell(query[1], width, cells)
        z = _cell(query[2], width, cells)
        for cx in range(max(x - 1, 0), min(x + 2, cells)):
            for cy in range(max(y - 1, 0), min(y + 2, cells)):
                row = (cx * cells + cy) * cells
                begin = starts[row + max(z - 1, 0)]
                if later:
                    begin = max(begin, i + 1)
                for j in range(begin, starts[row + min(z + 2, cells)]):
                    point = points[j]
                    distance = 0.0
                    for axis in range(4):
                        distance += (query[axis] - point[axis]) ** 2
                    if distance > reach:
                        continue
                    for axis in range(4, size):
                        distance += (query[axis] - point[axis]) ** 2
                    if distance <= reach:
                        out[found, 0] = i
                        out[found, 1] = j
                        found += 1
    return found


@njit(cache=True, nogil=True)
def _dot(a, b):
    total = np.int32(0)
    for t in range(a.size):
        total = np.int32(total + np.int32(np.int32(a[t]) * np.int32(b[t])))
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
