"""All pairs of windows whose correlation reaches a threshold, without looking at all pairs.

A window, normalised to length 1, is split into its first Fourier coefficients (the head) and
the rest (the tail), of which only the length is known. So

    head·head' - tail tail' <= correlation <= head·head' + tail tail'

and the upper bound is itself the cosine of two unit vectors (head, tail): pairs that can reach
the threshold are near each other, and a grid finds them without false dismissals. StatStream's
bound 1 - |head - head'|²/2 follows from this one and is never tighter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synopses.errors import QueryError
from synopses.kernels import correlated_pairs as kernel
from synopses.streams import Streams

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ROUNDING = 1e-9
_MOST_CELLS = 64  # along one axis
_PAIRS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class KeptTicks:
    """Windows at one byte a tick; everything as a share of the window's length."""

    ticks: NDArray[np.int8]  # (streams, ring, pane_ticks)
    places: Indices  # (panes,): where in the ring the window is
    units: Floats  # (streams, panes)
    means: Floats  # (streams, panes)
    within: Floats  # (streams,): length of the deviations from the panes' means
    lost: Floats  # (streams,): length of what one byte a tick leaves out


@dataclass(frozen=True, slots=True)
class Windows:
    """Normalised windows of n streams; row i belongs to stream `streams[i]`."""

    streams: Indices
    heads: Floats  # (n, 2 * coefficients)
    tails: Floats  # (n,)
    kept: KeptTicks | None

    def points(self, sign: int = 1) -> Floats:
        """Unit vectors whose inner product is the upper bound (of minus the correlation)."""
        return np.column_stack([sign * self.heads, self.tails])


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of the windows that pair up, and what is known of their correlation."""

    a: Indices
    b: Indices
    value: Floats
    lower: Floats
    upper: Floats

    def take(self, chosen: NDArray[np.bool_] | Indices) -> Pairs:
        bounds = self.lower[chosen], self.upper[chosen]
        return Pairs(self.a[chosen], self.b[chosen], self.value[chosen], *bounds)

    def strongest(self, limit: int) -> Pairs:
        """The pairs of largest absolute correlation, strongest first."""
        strength = np.abs(self.value)
        chosen = np.arange(len(strength))
        if len(strength) > limit:  # sorting all of them would take longer than finding them
            chosen = np.flatnonzero(strength >= np.partition(strength, -limit)[-limit])
        order = np.lexsort((self.b[chosen], self.a[chosen], -strength[chosen]))
        return self.take(chosen[order[:limit]])

    def rows(self, streams: Streams, a: Indices, b: Indices) -> list[list[Any]]:
        """[name, name, correlation, lower, upper] of each pair, for the streams a and b."""
        names = np.asarray(streams.names, object)
        columns = (names[a], names[b], self.value, self.lower, self.upper)
        return [list(row) for row in zip(*(c.tolist() for c in columns), strict=True)]


def find_stream(streams: Streams, argument: str, name: str) -> int:
    """The place of a stream given by name in an argument of a query."""
    try:
        return list(streams.names).index(name)
    except ValueError:
        raise QueryError(f"query.{argument}", name, "the name of a known stream") from None


def correlations(one: Windows, two: Windows, a: Indices, b: Indices) -> Pairs:
    """Correlation of window a[i] of `one` and b[i] of `two`, with bounds that always hold."""
    head = np.einsum("ij,ij->i", one.heads[a], two.heads[b])
    tail = one.tails[a] * two.tails[b]
    lower, upper = head - tail, head + tail
    lengths = np.sqrt(np.maximum(1 - one.tails[a] ** 2, 0) * np.maximum(1 - two.tails[b] ** 2, 0))
    # Without the ticks, the tails are taken to correlate as the heads do.
    value = head + tail * np.clip(head / np.maximum(lengths, ROUNDING), -1, 1)
    if one.kept is not None and two.kept is not None:
        x, y = one.kept, two.kept
        value = np.empty(len(a))
        i, j = one.streams[a], two.streams[b]
        kernel.kept_correlations(
            i, j, x.ticks, x.places, y.places, x.units, y.units, x.means, y.means, value
        )
        error = x.lost[i] * y.within[j] + (x.within[i] + x.lost[i]) * y.lost[j]
        lower = np.maximum(lower, value - error)
        upper = np.minimum(upper, value + error)
    lower = np.clip(lower - ROUNDING, -1, 1)
    upper = np.clip(upper + ROUNDING, -1, 1)
    return Pairs(a, b, np.clip(value, lower, upper), lower, upper)


def search(
    one: Windows, two: Windows, threshold: float, negative: bool, limit: int
) -> tuple[Pairs, dict[str, int]]:
    """The strongest pairs that can reach the threshold, and how many there are in all.

    With `two is one` each pair comes once; else a is of `one` and b, another stream, of `two`.
    With `negative` correlations of at most -threshold count too.
    """
    cells, width = _grid(threshold)
    points = two.points()
    order = np.empty(len(points), np.int64)
    starts = np.zeros(cells**kernel.GRID_AXES + 1, np.int64)
    kernel.sort_into_cells(points, width, cells, starts, order)
    points = points[order]
    query_order = order if two is one else np.arange(len(one.heads))
    reach = 2 * (1 - threshold) + ROUNDING
    rows = max(1, _PAIRS_AT_ONCE // max(1, len(points)))
    out = np.empty((rows * len(points), 2), np.int64)
    counts = {"candidates": 0, "found": 0}
    kept: list[Pairs] = []
    for sign in (1, -1) if negative else (1,):
        queries = one.points(sign)[query_order]
        for first in range(0, len(queries), rows):
            last = min(first + rows, len(queries))
            n = kernel.near(
                queries, first, last, points, starts, width, cells, reach, two is one, out
            )
            a, b = query_order[out[:n, 0]], order[out[:n, 1]]
            if two is one:
                a, b = np.minimum(a, b), np.maximum(a, b)
            else:
                others = one.streams[a] != two.streams[b]
                a, b = a[others], b[others]
            pairs = correlations(one, two, a, b)
            positive = pairs.upper >= threshold
            pairs = pairs.take(positive if sign > 0 else (-pairs.lower >= threshold) & ~positive)
            counts["candidates"] += len(a)
            counts["found"] += len(pairs.a)
            kept.append(pairs)
            if sum(len(k.a) for k in kept) > 2 * limit + _PAIRS_AT_ONCE:
                kept = [_joined(kept).strongest(limit)]
    return _joined(kept).strongest(limit), counts


def _grid(threshold: float) -> tuple[int, float]:
    """Cells along an axis from -1 to 1 and their width: no near pair is two cells apart."""
    width = max(math.sqrt(2 * (1 - threshold) + ROUNDING), 2 / _MOST_CELLS)
    return math.ceil(2 / width), width


def _joined(parts: list[Pairs]) -> Pairs:
    if not parts:
        return Pairs(*(np.empty(0, np.int64),) * 2, *(np.empty(0),) * 3)
    return Pairs(
        np.concatenate([p.a for p in parts]),
        np.concatenate([p.b for p in parts]),
        np.concatenate([p.value for p in parts]),
        np.concatenate([p.lower for p in parts]),
        np.concatenate([p.upper for p in parts]),
    )
