"""All pairs of windows whose correlation reaches a threshold, without looking at all pairs.

A window, normalised to length 1, is split into its first Fourier coefficients (the head) and
the rest (the tail), of which only the length is known. So

    head·head' - tail tail' <= correlation <= head·head' + tail tail'

and the upper bound is itself the cosine of two unit vectors (head, tail): pairs that can reach
the threshold are near each other, and a grid finds them without false dismissals. StatStream's
bound 1 - |head - head'|²/2 follows from this one and is never tighter.

The same bound with fewer coefficients, whose tail has the rest, is weaker and cheaper: points of
neighbouring cells are compared by that one first, eight at a time in numbers of 4 bytes, and few
are left for the other. Where a correlation may be negative too, the grid is folded: a cell has
the absolute values of its axes, and both kinds of pairs come in one pass.
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
MOST_PAIRS = 200_000  # of an answer
PAIR_COLUMNS = ("a", "b", "correlation", "lower", "upper")  # of a row of the answer
MOST_CANDIDATES = 20_000_000  # that are compared for one question: some seconds of work
_MOST_CELLS = 64  # from -1 to 1
_FEWEST_CELLS = 4  # in which not almost everybody is a neighbour of everybody
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

    def points(self, order: Indices) -> kernel.Points:
        """Unit vectors whose inner product is the upper bound, in some order."""
        heads, n = self.heads[order], len(order)
        axes, tiles = kernel.SHORT_AXES, -(-n // kernel.TILE)
        known = heads[:, :axes]
        short = np.zeros((tiles, kernel.TILE, axes + 1), np.float32)
        flat = short.reshape(tiles * kernel.TILE, axes + 1)
        flat[:n, : known.shape[1]] = known
        flat[:n, axes] = np.sqrt(np.maximum(1 - (known**2).sum(axis=1), 0))
        by_axis = np.ascontiguousarray(short.transpose(0, 2, 1))
        return kernel.Points(heads, self.tails[order], flat, by_axis)


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
        """The PAIR_COLUMNS of each pair, for the streams a and b."""
        names = np.asarray(streams.names, object)
        columns = (names[a], names[b], self.value, self.lower, self.upper)
        return list(map(list, zip(*(c.tolist() for c in columns), strict=True)))


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


def check_limit(limit: int) -> None:
    if not 1 <= limit <= MOST_PAIRS:
        raise QueryError("query.limit", limit, f"from 1 to {MOST_PAIRS}")


def check_candidates(candidates: int, threshold: float) -> None:
    if candidates > MOST_CANDIDATES:
        expected = f"a higher one: more than {MOST_CANDIDATES} pairs may reach it"
        raise QueryError("query.threshold", threshold, expected)


def completeness(found: int, limit: int) -> dict[str, bool]:
    """What an answer says if there are more pairs than were asked for."""
    return {"complete": False} if found > limit else {}


def search(
    one: Windows, two: Windows, threshold: float, negative: bool, limit: int
) -> tuple[Pairs, dict[str, int]]:
    """The strongest pairs that can reach the threshold, and how many there are in all.

    With `two is one` each pair comes once; else a is of `one` and b, another stream, of `two`.
    With `negative` correlations of at most -threshold count too. QueryError if more than
    MOST_CANDIDATES may reach the threshold.
    """
    grid = _grid(threshold, negative)
    order = np.empty(len(two.heads), np.int64)
    kernel.sort_into_cells(two.heads, grid, order)
    query_order = order if two is one else np.arange(len(one.heads))
    points = two.points(order)
    queries = points if two is one else one.points(query_order)
    out = np.empty((max(_PAIRS_AT_ONCE, len(order)), 2), np.int64)
    counts = {"candidates": 0, "found": 0}
    found: list[Pairs] = []
    first = 0
    while first < len(query_order):
        n, first = kernel.near(
            queries, points, grid, threshold - ROUNDING / 2, two is one, first, out
        )
        a, b = query_order[out[:n, 0]], order[out[:n, 1]]
        if two is one:
            a, b = np.minimum(a, b), np.maximum(a, b)
        else:
            others = one.streams[a] != two.streams[b]
            a, b = a[others], b[others]
        counts["candidates"] += len(a)
        check_candidates(counts["candidates"], threshold)
        pairs = correlations(one, two, a, b)
        reaches = pairs.upper >= threshold
        pairs = pairs.take(reaches | (pairs.lower <= -threshold) if negative else reaches)
        counts["found"] += len(pairs.a)
        found.append(pairs)
        if sum(len(k.a) for k in found) > 2 * limit + _PAIRS_AT_ONCE:
            found = [_joined(found).strongest(limit)]
    return _joined(found).strongest(limit), counts


def _grid(threshold: float, folded: bool) -> kernel.Grid:
    """So that no near pair is two cells apart, with nothing in it yet."""
    span = 1.0 if folded else 2.0
    width = max(math.sqrt(2 * (1 - threshold) + ROUNDING), 2 / _MOST_CELLS)
    cells = math.ceil(span / width)
    if cells < _FEWEST_CELLS:
        cells, width = 1, span
    starts = np.zeros(cells**kernel.GRID_AXES + 1, np.int64)
    return kernel.Grid(starts, width, cells, folded)


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
