"""The paths that the scanner tells apart, for one segment of rows, and their numbers."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.decoding.json_records import Wanted, boundaries
from sde.decoding.limits import Limits
from sde.kernels import json_paths as kernel
from sde.kernels.json_scan import NO_EACH, VALUES

_ENVELOPE = ("dataset", "dataSetkey", "stream", "streamID", "time", "values")
_NO_PATH = 1 << 40  # a number that no path has
_MOST_DIGITS = 9  # of the number of an element: no array is that long
_SEED = secrets.randbits(62)  # no result depends on it

_Edge = tuple[int, str, int]  # from a path, by a name, to a path
_Element = tuple[int, int, int]  # of a path, its number, its own path


class PathTree:
    """Paths get numbers in the order of their appearance, after the root and those known before.

    The arrays belong to the scanner (`sde.kernels.json_paths`), which adds what it meets if the
    tree is open. It stops a segment at `most` paths, before a row; one row has at most `most`
    names beside `values` and as many in it: the arrays have room for that. Should there be more,
    the scanner leaves the row.
    """

    def __init__(
        self, paths: list[str], edges: list[_Edge], most: int, longest: int, nested: bool
    ) -> None:
        """`most` more paths than those known are expected, each with at most `longest` bytes."""
        room = 4 * most + 1
        names = [f'{name}"'.encode() for _, name, _ in edges]
        texts = [path.encode() for path in paths]
        more = room * (longest + 1) if most else 0
        seen = np.zeros(2 * (room + len(paths)), np.int64)
        self.arrays: tuple[NDArray[Any], ...] = (
            np.empty(sum(map(len, names)) + more + 8, np.uint8),
            np.zeros(room + len(edges) + 1, np.int64),
            np.empty(room + len(edges), np.int64),
            np.empty(room + len(edges), np.int64),
            _table(room + len(edges)),
            np.empty(sum(map(len, texts)) + more, np.uint8),
            np.zeros(room + len(paths) + 1, np.int64),
            _table(room + len(paths)),
            np.full(room + len(paths), -1, np.int64),
            np.full(room + len(paths), -1, np.int64),
            np.empty(room + len(paths), np.int64),
            np.ones(room + len(paths), np.bool_),
            np.full(room + len(edges) + 1, -1, np.int64),
            seen,
            np.array([0, 1, 0, _SEED]),  # the root is a path without a text
        )
        buffer, bounds = _joined(texts)
        kernel.add_paths(buffer, bounds, nested, self.arrays)
        buffer, bounds = _joined(names)
        ends = np.array([(start, end) for start, _, end in edges], np.int64).reshape(-1, 2).T
        kernel.add_edges(buffer, bounds, ends[0].copy(), ends[1].copy(), self.arrays)

    def paths(self) -> list[str]:
        """Every path so far by its number; the root is an empty text."""
        texts, bounds, count = self.arrays[5], self.arrays[6], int(self.arrays[14][1])
        return [texts[bounds[i] : bounds[i + 1]].tobytes().decode() for i in range(count)]

    def put_elements(self, elements: Iterable[_Element]) -> None:
        """Make the lists of elements; each path is known."""
        first, following, number = self.arrays[8:11]
        last_of: dict[int, int] = {}
        for parent, at, path in sorted(elements):
            number[path] = at
            if parent in last_of:
                following[last_of[parent]] = path
            else:
                first[parent] = path
            last_of[parent] = path


class TupleTree(PathTree):
    """The names of tuples: those of the envelope, and fields.

    >>> TupleTree(["price"], Limits()).paths()[-2:]
    ['values', 'price']
    """

    each = NO_EACH

    def __init__(self, wanted: list[str] | None, limits: Limits) -> None:
        """`wanted` fields are read; None: whichever there are."""
        self.is_open = wanted is None
        fields = [name for name in wanted or () if name not in _ENVELOPE]
        paths = [*_ENVELOPE, *fields]
        number = {path: i + 1 for i, path in enumerate(paths)}
        edges = [(kernel.ROOT, path, number[path]) for path in paths]
        edges += [(VALUES, name, number[name]) for name in wanted or ()]
        most = limits.max_fields if self.is_open else 0
        super().__init__(paths, edges, most, limits.max_name, nested=False)
        self.arrays[11][VALUES] = True
        self.unwanted = _NO_PATH if self.is_open else len(paths) + 1


class RecordTree(PathTree):
    """The paths of records of any form.

    >>> RecordTree(Wanted.of(frozenset({"legs[1].px", "id"}), None), Limits()).paths()
    ['', 'id', 'legs[1].px', 'legs', 'legs[1]']
    """

    def __init__(self, wanted: Wanted, limits: Limits) -> None:
        self.is_open = wanted.paths is None
        read = sorted(wanted.paths or ())
        paths = [*read, *sorted(wanted.inner.difference(read))]
        number = {path: i + 1 for i, path in enumerate(paths)}
        targets = [*read, *([] if wanted.each is None else [wanted.each])]
        edges = dict.fromkeys(edge for path in targets for edge in _edges(path, number))
        most = limits.max_fields if self.is_open else 0
        super().__init__(paths, list(edges), most, limits.max_name, nested=True)
        elements = {element for path in targets for element in _elements(path, number)}
        self.put_elements(elements)
        self.unwanted = _NO_PATH if self.is_open else len(read) + 1
        self.each = NO_EACH if wanted.each is None else number[wanted.each]


def _edges(path: str, number: dict[str, int]) -> Iterable[_Edge]:
    """All ways to a path: a name may end at any of its boundaries, and begins behind a point."""
    stops = [*(boundary.start() for boundary in boundaries(path)), len(path)]
    starts = [(kernel.ROOT, 0)]
    starts += [(number[path[:at]], at + 1) for at in stops[:-1] if path[at] == "."]
    for parent, start in starts:
        for stop in stops:
            if stop >= start:
                yield parent, path[start:stop], number[path[:stop]]


def _elements(path: str, number: dict[str, int]) -> Iterable[_Element]:
    for boundary in boundaries(path):
        at, element = boundary.group()[1:-1], path[: boundary.end()]
        if at and len(at) <= _MOST_DIGITS and element in number:
            yield number[path[: boundary.start()]], int(at), number[element]


def _joined(texts: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=bounds[1:])
    return np.frombuffer(bytearray(b"".join(texts)), np.uint8), bounds


def _table(room: int) -> NDArray[np.int64]:
    return np.full(1 << (2 * room).bit_length(), -1, np.int64)
