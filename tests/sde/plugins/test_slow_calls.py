"""A plug-in may be slow once: when its kernels are compiled. Slow for ever, it is stopped."""

import numpy as np
import pytest

from sde.plugins import calls, process
from sde.plugins.failure import PluginFailure
from sde.plugins.process import PluginProcess
from tests.plugin_sources import TOTAL

LIMIT = 1.0
WAIT = """
        time.sleep(3.0 if first else items.values[0])
        first.clear()
        np.add.at"""
SLOW = "import time\n\nfirst = [True]\n" + TOTAL.replace("np.add.at", WAIT.strip())
PARAMS = calls.to_raw({})


@pytest.fixture
def slow():
    started = PluginProcess("total", LIMIT)
    started.load("total", SLOW, 1 << 30)
    yield started
    started.stop()


def add(slow, seconds):
    """Items whose first value says how long it takes, if it is not the first call."""
    arrays = {"values": np.array([seconds]), "a.sum": np.zeros(1), "slots": np.zeros(1, np.int32)}
    slow.call(calls.AddSlots(PARAMS, 1), calls.Done, arrays)
    return slow.views()["a.sum"].tolist()


def test_a_first_call_may_take_longer_than_its_limit_and_a_later_one_may_not(slow):
    assert add(slow, 0.0) == [0.0]
    assert add(slow, 0.25) == [0.25]
    with pytest.raises(PluginFailure, match="took more than 1 s"):
        add(slow, 60.0)


def test_a_first_call_that_takes_for_ever_ends_too(slow, monkeypatch):
    monkeypatch.setattr(process, "_COMPILING_SECONDS", 0.5)
    with pytest.raises(PluginFailure, match=r"took more than 1\.5 s"):
        add(slow, 0.0)


def test_calls_of_other_forms_are_first_calls_of_their_own():
    one, two = np.zeros(2), np.zeros(2, np.int32)
    forms = [
        process._form(calls.AddSlots(PARAMS, 2), {"values": one}),
        process._form(calls.AddSlots(PARAMS, 9), {"values": two}),
        process._form(calls.Make(PARAMS), {}),
        process._form(calls.Ask(PARAMS, calls.to_raw({"type": "total"})), {}),
        process._form(calls.Ask(PARAMS, calls.to_raw({"type": "mean", "key": "a"})), {}),
    ]
    assert len(set(forms)) == len(forms)
    same = [
        process._form(calls.Ask(PARAMS, calls.to_raw({"type": "mean", "key": "b"})), {}),
        process._form(calls.AddSlots(PARAMS, 3), {"values": np.zeros(3)}),
    ]
    assert set(same) <= set(forms)
