"""Tables in Markdown, for the result files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table. A bar inside a cell would end it.

    >>> markdown_table(["a", "b"], [["1", "|x|"]])
    ['| a | b |', '|---|---|', '| 1 | \\\\|x\\\\| |']
    """
    return [_line(header), "|" + "---|" * len(header), *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
