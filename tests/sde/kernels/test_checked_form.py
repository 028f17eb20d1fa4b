"""The checked form of the kernels: the same source, and whoever leaves an array is found out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
REACHES = {
    "load_word": "load_word(bytes_, at + 1)",
    "load_byte": "load_byte(bytes_, at + 8)",
    "load": "load(longs, at + 8)",
    "store": "store(longs, at + 8, 1)",
    "copy_word": "copy_word(bytes_, at, bytes_, at + 1)",
    "copy_bytes": "copy_bytes(bytes_, at, bytes_, at, at + 9)",
    "array": "longs[at + 8]",
}


def run(*arguments, checked="1"):
    return subprocess.run(
        [sys.executable, *arguments],
        env={
            **os.environ,
            "SDE_CHECKED_KERNELS": checked,
            "SDE_EXAMPLES": "20",
            "PYTHONPATH": str(ROOT),
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("reach", REACHES)
def test_a_kernel_that_leaves_an_array_raises_in_the_checked_form(reach, tmp_path):
    """Also one place before it, but for an index in brackets: there -1 is the last."""
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import numpy as np
from sde.kernels.compiling import *

@kernel
def reach(bytes_, longs, at):
    {REACHES[reach]}

for at in (0, -9):
    try:
        reach(np.zeros(8, np.uint8), np.zeros(8, np.int64), at)
    except IndexError as error:
        print(error)
"""
    )
    found = run(str(program))
    assert found.stdout.count("\n") == (1 if reach == "array" else 2), found.stderr


def test_the_two_forms_never_take_each_others_machine_code(tmp_path):
    """The fast form is compiled and cached first; the checked one still checks."""
    program = tmp_path / "program.py"
    program.write_text(
        """
import sys
import numpy as np
from sde.kernels.compiling import CHECKED, kernel, load_byte

@kernel
def first(buffer, at):
    return load_byte(buffer, at)

print(CHECKED, first(np.full(8, 7, np.uint8), 3), sum(first.stats.cache_hits.values()))
try:
    first(np.zeros(1, np.uint8), 8 if CHECKED else 0)
except IndexError:
    print("checked")
"""
    )
    for checked, expected in [
        ("0", "False 7 0\n"),
        ("1", "True 7 0\nchecked\n"),
        ("0", "False 7 1\n"),
        ("1", "True 7 1\nchecked\n"),
    ]:
        found = run(str(program), checked=checked)
        assert found.stdout == expected, found.stderr


def test_the_tests_of_decoding_pass_in_the_checked_form():
    # One of them is in this form anyway.
    fuzz = "tests/sde/decoding/test_scanner.py::test_a_short_fuzz_in_the_checked_form"
    found = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/sde/decoding",
                "tests/sde/tuples", "tests/sde/expressions/test_evaluation.py",
                "tests/service/kafka/test_record_batches.py",
                "tests/service/kafka/test_checksums.py",
                "--deselect", fuzz)  # fmt: skip
    assert found.returncode == 0, found.stdout[-5000:]
