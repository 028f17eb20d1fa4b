"""The notebooks of the documentation, and a runner for them that needs no Jupyter."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import matplotlib

from tests.docs.markdown_pages import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
RUN = ("first-sketch", "stocks")  # on the engine that tests share


def cells_of(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def run_notebook(name: str) -> None:
    """Run all cells in their order; what a cell ends with is shown, as Jupyter would."""
    matplotlib.use("agg")
    path, names = FOLDER / f"{name}.ipynb", {"__name__": "__main__"}
    for number, cell in enumerate(cells_of(path), start=1):
        if cell["cell_type"] == "code":
            _run_cell("".join(cell["source"]), f"{path.name}, cell {number}", names)
    matplotlib.pyplot.close("all")


def _run_cell(source: str, place: str, names: dict[str, Any]) -> None:
    tree = ast.parse(source, place)
    last = tree.body[-1]
    shown = ast.Expression(last.value) if isinstance(last, ast.Expr) else None
    if shown is not None:
        tree.body.pop()
    exec(compile(tree, place, "exec"), names)
    if shown is not None:
        value = eval(compile(shown, place, "eval"), names)
        as_html = getattr(value, "_repr_html_", None)
        assert value is None or (as_html() if as_html else repr(value)), place
