"""What is generated is what the declarations say now."""

import doctest
import importlib
import pkgutil

import pytest

import docs.generate
from docs.generate import kinds_table
from docs.generate.comments import comments
from docs.generate.files import generated_files
from docs.generate.markdown import table
from docs.generate.measured import in_millions
from synopses import KINDS

FILES = generated_files()


class Colours:
    RED = 1  # as blood
    BLUE = "# no comment"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_generated_file_is_what_the_declarations_say(path):
    assert path.read_text(encoding="utf-8") == FILES[path], "run: python -m docs.generate"


def test_every_kind_is_in_one_row_of_the_table_in_the_readme():
    named = [kind for row in kinds_table.ROWS for kind in row.kinds]
    assert sorted(named) == sorted(KINDS)


def test_only_what_is_between_the_marks_is_replaced():
    start, end = kinds_table.START, kinds_table.END
    assert kinds_table.replaced(f"a {start}\nold\n{end} b", "new") == f"a {start}\nnew\n{end} b"


def test_a_bar_does_not_end_a_cell_of_a_table():
    assert table(["guarantee"], [["|a|"]]).splitlines()[-1] == "| \\|a\\| |"


def test_speeds_are_shown_in_millions():
    assert in_millions(12_345_678.0) == "12.3"
    assert in_millions(2e6) == "2"
    assert in_millions(None) == "–"


def test_the_examples_of_the_generator_are_right():
    for module in pkgutil.iter_modules(docs.generate.__path__):
        if module.name != "__main__":
            found = importlib.import_module(f"docs.generate.{module.name}")
            assert doctest.testmod(found).failed == 0


def test_a_declaration_means_what_its_comment_says():
    assert comments(Colours) == {"RED": "as blood"}
