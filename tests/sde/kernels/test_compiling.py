"""Kernels count no references to arrays: that took two thirds of the time of decoding."""

import numpy as np
import pytest
from numba import njit
from numba.core.caching import NullCache
from numba.core.errors import TypingError

from sde.kernels.compiling import kernel


@njit(inline="always")
def _at(array, place):
    return array[place]


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
