"""What kernels are compiled from, and into."""

import re
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numba.core.caching import NullCache
from numba.core.errors import TypingError

import sde.kernels
from sde.kernels import compiling
from sde.kernels.compiling import kernel

FILES = list(Path(sde.kernels.__file__).parent.glob("*.py"))


@njit(inline="always")
def _at(array, place):
    return array[place]


def first_word(path):
    return path.stem.split("_")[0]


def test_a_kernel_uses_helpers_only_of_files_whose_edits_the_cache_notices():
    shared = {path.stem for path in compiling._SHARED}
    for path in FILES:
        used = set(re.findall(r"^from sde\.kernels\.(\w+) import", path.read_text(), re.MULTILINE))
        family = {other.stem for other in FILES if first_word(other) == first_word(path)}
        assert used <= shared | family, path.name


def test_compiled_code_is_known_by_the_shared_files_and_those_of_its_family(tmp_path, monkeypatch):
    digest = compiling._digest.__wrapped__
    for name in ("json_text.py", "csv_scan.py", "compiling.py", "utf8.py"):
        (tmp_path / name).write_text(name)
    shared = [tmp_path / path.name for path in compiling._SHARED]
    assert [path.stem for path in shared] == ["compiling", "utf8"]
    monkeypatch.setattr(compiling, "_SHARED", shared)
    known = digest(tmp_path, "json")
    (tmp_path / "csv_scan.py").write_text("edited")
    assert digest(tmp_path, "json") == known
    for name in ("json_text.py", "compiling.py", "utf8.py"):
        (tmp_path / name).write_text("edited")
        assert digest(tmp_path, "json") != known
        known = digest(tmp_path, "json")


def test_a_kernel_whose_loop_hands_an_array_to_a_helper_counts_no_references():
    @kernel
    def total(array):
        found = 0
        for place in range(array.size):
            found += _at(array, place)
        return found

    total._cache = NullCache()  # code from a cache cannot be looked at
    assert total(np.arange(5)) == 10
    (code,) = total.inspect_llvm().values()
    assert "NRT_" not in code


def test_a_kernel_that_makes_an_array_is_refused_when_it_is_compiled():
    @kernel
    def made(size):
        return np.zeros(size)[0]

    with pytest.raises(TypingError):
        made(5)
