"""Sessions: runs of tuples with no pause as long as the gap between them.

Time is cut into cells as long as the gap. Tuples of one cell are surely of one session; those of
neighbouring cells are if the last of one and the first of the next are close enough; others never.
So a cell is a pane that also knows its first and last time, and sessions are found when asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Cell(Generic[T]):
    """`first` and `last` are times; `holds` is what is kept of them."""

    number: int
    first: int
    last: int
    holds: T


@dataclass(slots=True)
class Session(Generic[T]):
    """The times of the first and the last tuple, and the cells with all of them."""

    first: int
    last: int
    cells: list[Cell[T]]

    def end(self, gap: int) -> int:
        """From here on a tuple begins another session."""
        return self.last + gap


def sessions(cells: Iterable[Cell[T]], gap: int) -> list[Session[T]]:
    """The sessions that cells make up, in the order of time.

    >>> [[c.number for c in s.cells] for s in sessions(
    ...     [Cell(0, 3, 9, ""), Cell(1, 12, 13, ""), Cell(2, 28, 28, "")], gap=10)]
    [[0, 1], [2]]
    """
    found: list[Session[T]] = []
    for cell in sorted(cells, key=lambda c: c.first):
        if found and cell.first - found[-1].last < gap:
            found[-1].cells.append(cell)
            found[-1].last = max(found[-1].last, cell.last)
        else:
            found.append(Session(cell.first, cell.last, [cell]))
    return found
