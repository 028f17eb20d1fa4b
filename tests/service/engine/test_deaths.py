"""Why a query ended, from the text of its exception; and tasks of which none ends."""

from types import SimpleNamespace

import pytest

from service.engine import deaths
from service.engine.deaths import StuckTasks, comes_from_outside, reason

JOB = "Job aborted due to stage failure: Task 2 in stage 17.0 failed 2 times, most recent failure: "


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        (
            f"{JOB}org.apache.spark.SparkException: Python worker exited unexpectedly (crashed):\n"
            "Fatal Python error: Segmentation fault\n\nCurrent thread",
            "Fatal Python error: Segmentation fault",
        ),
        (
            f"{JOB}org.apache.spark.SparkException: Python worker exited unexpectedly (crashed):\n",
            "Python worker exited unexpectedly (crashed)",
        ),
        (
            f"{JOB}org.apache.spark.api.python.PythonException: Traceback (most recent call last):"
            "\n  File \"x.py\", line 1, in f\nKeyError: 'a'\n\n\tat org.apache",
            "KeyError: 'a'",
        ),
        (f"{JOB}x\nservice.kafka.errors.BrokerSilent: no answer\n\tat y", "no answer"),
        ("something else\nmore of it", "something else"),
    ],
)
def test_the_reason_is_one_line(failure, why):
    assert reason(failure) == why


def test_errors_of_kafka_and_of_the_disk_come_from_outside():
    assert comes_from_outside("x\nservice.kafka.errors.BrokerSilent: no answer")
    assert comes_from_outside("x\nsde.storage.arena.ArenaError: the disk is full")
    assert comes_from_outside("x\nOSError: [Errno 28] No space left on device: 'exchange/7'")
    assert comes_from_outside("Caused by: java.io.IOException: No space left on device\n\tat x")
    assert not comes_from_outside("x\nsde.requests.boundary.Defect: a defect of ours")
    assert not comes_from_outside(f"{JOB}Python worker exited unexpectedly (crashed)")


def test_tasks_are_stuck_when_none_ends_for_the_time_set(monkeypatch):
    now, ended = [0.0], {}  # how many tasks of each stage have ended
    tracker = SimpleNamespace(
        getActiveStageIds=lambda: list(ended),
        getStageInfo=lambda n: SimpleNamespace(numCompletedTasks=ended[n], numFailedTasks=0),
    )
    monkeypatch.setattr(deaths, "time", SimpleNamespace(monotonic=lambda: now[0]))
    context = SimpleNamespace(statusTracker=lambda: tracker)
    stuck = StuckTasks(SimpleNamespace(sparkContext=context), seconds=10)

    def after(seconds, stages):
        now[0] += seconds
        ended.clear()
        ended.update(stages)
        return stuck.look()

    assert not after(100, {})  # an idle engine is not stuck
    assert not after(2, {7: 0})
    assert not after(9, {7: 0})
    assert not after(9, {7: 1})  # one has ended
    assert not after(9, {7: 1})
    assert after(2, {7: 1})
