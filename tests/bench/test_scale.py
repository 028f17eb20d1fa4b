import json

import numpy as np
import pytest

from bench.scale.cases import Case, all_cases, in_turn, tuples_of
from bench.scale.measure import Measured
from bench.scale.report import goals, lines, write


@pytest.mark.parametrize("case", all_cases(10_000), ids=str)
def test_a_case_makes_as_many_sketches_as_it_says(case):
    creates = list(case.creates())
    each = case.streams if case.way == "scope stream" else 1
    assert len(creates) * each == case.number
    assert len({create["uid"] for create in creates}) == len(creates)


def test_a_tuple_goes_into_one_sketch_into_two_or_into_one_of_each_definition():
    assert Case("scope stream", 100).sketches_a_tuple == 1
    assert Case("one create each", 10_000).sketches_a_tuple == 2
    assert Case("definitions", 100).sketches_a_tuple == 100


def test_cases_that_are_compared_come_next_to_each_other():
    cases = all_cases(10_000)
    turns = in_turn(cases, np.random.default_rng(1))
    assert sorted(map(str, turns)) == sorted(map(str, cases))
    for way in ("scope stream", "one create each"):
        places = [turns.index(Case(way, number)) for number in (100, 10_000)]
        assert abs(places[0] - places[1]) == 1


def test_tuples_are_of_as_many_streams_and_a_stream_stays_in_its_partition():
    parts = tuples_of(50, 5_000)
    seen = [set(part.streams.tolist()) for part in parts]
    assert not seen[0] & seen[1]
    assert len(seen[0] | seen[1]) == 50
    assert sum(map(len, parts)) == 5_000


def test_a_lone_stream_is_in_both_partitions():
    assert [len(part) for part in tuples_of(1, 1_000)] == [500, 500]


def results(kept):
    def measured(way, number, rate):
        return Measured(way, number, rate, 1.0, 1e5, 10**9, 10**8, 10**8, 20.0)

    rates = {100: 1e6, 10_000: kept * 1e6}
    return {
        (way, number): [measured(way, number, rate * f) for f in (0.9, 1, 1.1)]
        for way in ("scope stream", "one create each")
        for number, rate in rates.items()
    }


def test_to_keep_less_than_seven_tenths_of_the_rate_misses_the_goal():
    assert all(goal.met for goal in goals(results(0.71)))
    assert not any(goal.met for goal in goals(results(0.69)))


def test_rounds_are_compared_with_themselves():
    assert [goal.figure for goal in goals(results(0.8))] == pytest.approx([0.8, 0.8])


def test_results_are_written(tmp_path):
    write(results(0.8), tmp_path)
    found = json.loads((tmp_path / "scale.json").read_text())
    assert len(found["results"]) == 12
    assert (tmp_path / "scale.png").stat().st_size > 0
    assert len(lines(results(0.8))) == 5
    assert np.isfinite(found["goals"][0]["figure"])
