"""What the pages say of the code is there: files, and where a walk begins to read."""

import ast
import re

import pytest

from tests.docs.markdown_pages import ROOT, pages

_FILE = re.compile(r"`((?:bench|clients|docs|sde|service|synopses|tests)/[\w/.]+\.py)`")
_STEP = re.compile(r"\| `(\S+\.py)` \| `([\w.]+)` \|")
PAGES = [page for page in pages() if page.name != "CHANGELOG.md"]
STEPS = [step for page in PAGES for step in _STEP.findall(page.text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page):
    for name in _FILE.findall(page.text):
        example = "NAME" in name  # of files that are yet to be written
        assert example or (ROOT / name).exists(), f"{page.name}: {name}"


@pytest.mark.parametrize(("file", "name"), STEPS, ids=lambda part: part)
def test_a_step_of_a_walk_is_in_its_file(file, name):
    within: ast.AST = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    for part in name.split("."):
        found = [
            node
            for node in ast.iter_child_nodes(within)
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == part
        ]
        assert found, f"{file}: {name}"
        within = found[0]
