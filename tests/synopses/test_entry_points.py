"""Kinds of installed packages: real ones, found by another interpreter in a folder on its path."""

import os
import subprocess
import sys

import pytest

KIND = """
import numpy as np
from synopses import BankedSynopsis, Estimate, question


class Counted(BankedSynopsis):
    '''How many items there were.'''

    kind = {kind!r}
    linear = order_free = True
    reads = frozenset()
    guarantee = "exact"

    def layout(self):
        return {{"n": (np.int64, ())}}

    def add_slots(self, arrays, slots, items):
        np.add.at(arrays["n"], slots, 1)

    @question
    def count(self):
        '''How many items there were.'''
        return Estimate(int(self.arrays["n"][0]))
"""


@pytest.fixture
def install(tmp_path):
    """Put a package into the folder as an installer would leave it: a module and its dist-info."""

    def installed(name, source, value=None):
        (tmp_path / f"{name}.py").write_text(source)
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        offered = value or f"{name}:Counted"
        (about / "entry_points.txt").write_text(f"[sde.synopses]\n{name} = {offered}\n")

    return installed


def ask(tmp_path, code):
    """What `code` prints in an interpreter that has the folder on its path, and what it logs."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip(), done.stderr.strip()


def test_a_kind_of_an_installed_package_is_there_after_the_built_in_ones(install, tmp_path):
    install("counting", KIND.format(kind="counted"))
    code = """
from synopses import KINDS, Items, from_bytes
from synopses.laws import check
*_, last = KINDS
check(KINDS[last])
counted = KINDS[last]()
counted.add(Items.of(["a", "b"]))
print(last, len(KINDS), from_bytes(counted.to_bytes()).count().value)
"""
    assert ask(tmp_path, code) == ("counted 22 2", "")


@pytest.mark.parametrize(
    ("source", "value", "why"),
    [
        ("import no_such_module", None, "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise RuntimeError('not today')", None, "RuntimeError: not today"),
        ("", None, "AttributeError"),
        ("Counted = 5", None, "TypeError: 5: expected a subclass of synopses.Synopsis"),
        ("class Counted: kind = 'x'", None, "expected a subclass of synopses.Synopsis"),
        ("from synopses import Synopsis as Counted", None, "does not define _add, _load"),
        (KIND.format(kind="no kind"), None, "Counted.kind='no kind': expected a name"),
        (KIND.format(kind="count_min"), None, "'count_min' is a kind already"),
        (KIND.format(kind="counted"), "elsewhere:Counted", "No module named 'elsewhere'"),
    ],
)
def test_a_broken_or_clashing_kind_is_left_out_and_the_log_says_why(
    install, tmp_path, source, value, why
):
    install("bad", source, value)
    install("good", KIND.format(kind="counted"))
    kinds, logged = ask(tmp_path, "from synopses import KINDS; print(*list(KINDS)[21:])")
    assert kinds == "counted"
    assert len(logged.splitlines()) == 1
    assert logged.startswith(f"the kind {value or 'bad:Counted'} of bad 1.0 is left out: ")
    assert why in logged


def test_of_two_packages_with_one_kind_the_first_by_name_has_it(install, tmp_path):
    install("beta", KIND.format(kind="counted"))
    install("alpha", KIND.format(kind="counted"))
    code = "from synopses import KINDS; print(KINDS['counted'].__module__)"
    kinds, logged = ask(tmp_path, code)
    assert kinds == "alpha"
    assert logged == "the kind beta:Counted of beta 1.0 is left out: 'counted' is a kind already"


def test_importing_the_library_imports_no_package_that_offers_a_kind(install, tmp_path):
    install("counting", KIND.format(kind="counted"))
    code = "import sys, synopses; print('counting' in sys.modules)"
    assert ask(tmp_path, code) == ("False", "")
