"""Which paths are read of records: names joined by points, `[i]` for an element of an array."""

from __future__ import annotations

import re
from collections import defaultdict

MOST_ELEMENTS = 1000  # of an array that have paths of their own
_STEP = re.compile(r"\.|\[(\d{1,9})\]")


class Paths:
    """
    >>> paths = Paths(frozenset({"legs[1].price"}))
    >>> paths.touch("legs"), paths.touch("legs[1]"), paths.touch("legs[0]"), paths.elements("legs")
    (True, True, False, [1])
    """

    def __init__(self, paths: frozenset[str] | None) -> None:
        self._paths = paths
        self.every = paths is None
        self._touched: set[str] = set(paths or ())
        self._elements: dict[str, set[int]] = defaultdict(set)
        for path in paths or ():
            for step in _STEP.finditer(path):
                self._touched.add(path[: step.start()])
                if step[1] is not None and int(step[1]) < MOST_ELEMENTS:
                    self._elements[path[: step.start()]].add(int(step[1]))
                    self._touched.add(path[: step.end()])

    def have(self, path: str) -> bool:
        """Whether the value at `path` is read."""
        return self._paths is None or path in self._paths

    def touch(self, path: str) -> bool:
        """Whether the value at `path`, or one inside it, is read."""
        return self._paths is None or path in self._touched

    def elements(self, path: str) -> list[int]:
        """The elements of the array at `path` that are read, or something inside them."""
        return sorted(self._elements.get(path, ()))


def member(path: str, name: str) -> str:
    """The path of a field of the record at `path`."""
    return f"{path}.{name}" if path else name
