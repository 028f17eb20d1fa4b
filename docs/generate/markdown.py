"""Markdown in the forms that the generated pages use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

GENERATED = "<!-- Written by `python -m docs.generate`; change the declarations instead. -->"


def page(title: str, *parts: str) -> str:
    """A whole page: its title, the note that it is generated, and its parts."""
    return "\n\n".join([f"# {title}", GENERATED, *(part for part in parts if part)]) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """
    >>> print(table(["name", "meaning"], [["a|b", "either"]]))
    | name | meaning |
    | --- | --- |
    | a\\|b | either |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(_cell, cells)) + " |" for cells in lines)


def _cell(text: str) -> str:
    # A bar would end the cell, a line break the row.
    return text.replace("|", "\\|").replace("\n", " ")


def code(text: str) -> str:
    """A text as code, nothing for an empty one."""
    return f"`{text}`" if text else ""


def block(text: str) -> str:
    """Text in a fixed font that the tests of the pages do not run."""
    return f"```text\n{text}\n```"
