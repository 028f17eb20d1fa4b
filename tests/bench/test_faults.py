import json

import numpy as np
import pytest

from bench.faults.asking import not_answered_once
from bench.faults.check import wrong_answers
from bench.faults.kills import KINDS, Kill, draw_kinds
from bench.faults.load import chunk, first
from bench.faults.recovery import BARE, FRESH, KILLED, Start
from bench.faults.report import Outcome, goals, lines, write
from synopses import CountMin, Items


def test_the_first_tuples_are_the_same_however_many_are_asked_for():
    streams, keys = first(25_000)
    np.testing.assert_array_equal(first(12_000)[0], streams[:12_000])
    np.testing.assert_array_equal(chunk(2)[1][:5_000], keys[20_000:])


def test_every_kind_of_kill_is_drawn_and_a_seed_draws_the_same():
    drawn = draw_kinds(30, seed=3)
    assert len(drawn) == 30
    assert set(drawn) == set(KINDS)
    assert drawn == draw_kinds(30, seed=3)


def test_a_request_without_a_reply_or_with_two_is_told():
    requests = {name: {"op": "list"} for name in ("a", "b", "c")}
    replies = [{"request": name} for name in ("a", "b", "b", "of somebody else")]
    assert not_answered_once(requests, replies) == [
        "request b (list) has 2 replies",
        "request c (list) has 0 replies",
    ]


@pytest.fixture
def asked():
    """A question about a stream after 40 of its tuples, and the right reply."""
    streams, keys = first(20_000)
    number = int(streams[0])
    of_stream = keys[streams == number]
    sketch = CountMin()
    sketch.add(Items.of(of_stream[:40]))
    key = int(of_stream[0])
    query = {"type": "frequency", "key": key}
    request = {"op": "estimate", "stream": f"s{number}", "query": query}
    value = sketch.frequency(str(key)).value
    return request, {"id": "r/1", "request": "r", "status": "ok", "value": value, "tuples": 40}


def test_an_answer_under_way_is_compared_with_the_tuples_it_had_seen(asked):
    request, reply = asked
    assert wrong_answers({"r": request}, [reply], 20_000) == []


@pytest.mark.parametrize("change", [{"value": 10**6}, {"tuples": 10**6}])
def test_an_answer_that_cannot_be_is_told(asked, change):
    request, reply = asked
    assert len(wrong_answers({"r": request}, [{**reply, **change}], 20_000)) == 1


def test_a_fault_is_a_wrong_answer_unless_the_stream_is_still_unseen(asked):
    request, _ = asked
    fault = {"request": "r", "status": "error", "code": "unknown_stream", "message": "m"}
    assert wrong_answers({"r": request}, [fault], 100) == []
    assert len(wrong_answers({"r": request}, [{**fault, "code": "internal"}], 100)) == 1


def outcome(killed, bare, mismatches=(), driver=19.0):
    starts = [
        Start(what, seconds - 1, seconds, 10**8)
        for what, seconds in ((FRESH, 30.0), (KILLED, killed), (BARE, bare))
    ]
    kills = [Kill("driver", driver, 1), Kill("worker", 2.0, 0), Kill("worker", 3.0, 0)]
    return Outcome(kills, 10, 5, list(mismatches), starts)


def test_goals_are_no_mismatch_and_recovery_within_twice_a_fresh_start():
    assert all(goal.met for goal in goals(outcome(31.0, 59.0)))
    missed = [goal.met for goal in goals(outcome(31.0, 61.0, ["x"]))]
    assert missed == [False, True, True, True, False]


def test_a_driver_that_takes_more_than_20_s_to_come_back_misses_its_goal():
    slow = goals(outcome(31.0, 59.0, driver=21.0))
    assert [goal.name for goal in slow if not goal.met] == ["median recovery of the driver"]


def test_results_are_written(tmp_path):
    write(outcome(31.0, 59.0), tmp_path)
    assert len(json.loads((tmp_path / "faults.json").read_text())["kills"]) == 3
    assert (tmp_path / "faults.png").stat().st_size > 0
    assert "mismatches = 0" in lines(outcome(31.0, 59.0))
