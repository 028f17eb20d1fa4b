"""Notebooks as they are committed. Tests with engines run them."""

import ast
import json

import pytest

from tests.docs.notebooks import NOTEBOOKS, RUN, cells_of


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_without_outputs(path):
    assert any(cell["cell_type"] == "code" for cell in cells_of(path))
    for cell in cells_of(path):
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_begins_with_what_it_is_about_and_its_cells_can_be_read(path):
    whole = json.loads(path.read_text(encoding="utf-8"))
    assert (whole["nbformat"], whole["metadata"]["language_info"]["name"]) == (4, "python")
    first, *_ = cells_of(path)
    assert (first["cell_type"], first["source"][0][:2]) == ("markdown", "# ")
    assert len({cell["id"] for cell in cells_of(path)}) == len(cells_of(path))
    for cell in cells_of(path):
        if cell["cell_type"] == "code":
            assert ast.parse("".join(cell["source"])).body


def test_every_notebook_is_run_by_some_test():
    assert [path.stem for path in NOTEBOOKS] == sorted(RUN)
