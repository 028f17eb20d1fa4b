"""The memory that a worker shares with a plug-in: its size is nobody's to change."""

import fcntl
import os

import numpy as np
import pytest

from sde.plugins import calls
from sde.plugins.process import PluginProcess
from sde.plugins.region import Region
from tests.plugin_sources import TOTAL


@pytest.fixture
def region():
    made = Region()
    yield made
    made.close()


@pytest.mark.parametrize("size", [0, 100, 1 << 30])
def test_neither_side_can_shrink_or_grow_it(region, size):
    """A page that was cut off kills who reads it, and that would be the engine's worker."""
    placed = region.place({"v": np.arange(1000)})
    for handle in (region.handle, os.open(f"/proc/self/fd/{region.handle}", os.O_RDWR)):
        with pytest.raises(PermissionError):
            os.ftruncate(handle, size)
        with pytest.raises(PermissionError):
            fcntl.fcntl(handle, fcntl.F_ADD_SEALS, 0)
    os.close(handle)
    assert region.views(placed)["v"].sum() == 499_500


def test_more_than_it_has_room_for_goes_to_another(region):
    first = region.handle
    placed = region.place({"v": np.arange(1 << 20)})
    assert region.handle != first
    other = Region(os.dup(region.handle))
    other.views(placed)["v"][0] = 5
    assert region.views(placed)["v"][0] == 5
    other.close()


def test_a_process_follows_to_a_larger_region():
    """Twice, so that the handle of the first is given back in both processes."""
    process = PluginProcess("total", 60.0)
    process.load("total", TOTAL, 1 << 30)
    params = calls.to_raw({})
    for count in (10, 1 << 18, 1 << 20, 10):
        arrays = {"values": np.ones(count), "a.sum": np.zeros(1)}
        slots = {"slots": np.zeros(count, np.int32)}
        process.call(calls.AddSlots(params, count), calls.Done, {**arrays, **slots})
        assert process.views()["a.sum"].tolist() == [count]
    process.stop()
