"""An engine that is asked to stop stops, even if Spark's JVM has ended before it."""

import os
import signal

import pytest
from py4j.protocol import Py4JNetworkError

from service import __main__ as serve
from service.engine.engine import Engine
from service.settings import Settings
from service.spark.session import stop_spark


class Gone:
    """A part of the engine whose JVM has ended."""

    state, passed_over = "running", 0

    def end(self):
        raise Py4JNetworkError("Answer from Java side is empty")

    def stop(self):
        raise ConnectionRefusedError("Connection refused")


def test_the_rest_of_the_engine_is_stopped_although_the_jvm_is_gone(tmp_path):
    said, stopped = [], []
    engine = Engine(Settings(data_dir=tmp_path), said.append)
    engine._query = Gone()
    engine._parts.callback(stop_spark, Gone())
    engine._parts.callback(stopped.append, "parts")
    engine._locks.callback(stopped.append, "locks")
    engine.stop()
    assert stopped == ["parts", "locks"]
    assert said == ["Spark ended first; the next start does the running batch again"]


class Fake:
    """An engine whose JVM ends, after a signal to stop if there is to be one."""

    signal = None

    def __init__(self, settings, report):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def supervise(self):
        if self.signal is not None:
            os.kill(os.getpid(), self.signal)
        raise Py4JNetworkError("Answer from Java side is empty")


@pytest.fixture
def served(monkeypatch):
    """`sde serve` with that engine; the signal handlers of the test process come back."""
    monkeypatch.setattr(serve, "Engine", Fake)
    monkeypatch.setattr("sys.argv", ["sde serve"])
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield serve.main
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_that_was_asked_for_is_no_error(served, monkeypatch, capsys, number):
    monkeypatch.setattr(Fake, "signal", number)
    assert served() == 0
    assert capsys.readouterr().out.endswith("sde: stopped\n")


def test_a_jvm_that_ends_by_itself_is_an_error(served):
    with pytest.raises(Py4JNetworkError):
        served()
