import json

from bench.soak import Sample, Turns, goals, growth, write


def samples(*memory):
    return [Sample(10.0 * i, m // 2, m - m // 2, 1000, 1000) for i, m in enumerate(memory)]


def test_growth_is_told_by_the_medians_of_the_last_two_quarters():
    taken = samples(1, 1, 100, 100, 200, 210, 190, 220)
    assert growth(taken, "memory") == 205 / 205
    assert growth(samples(10, 10, 10, 100, 100, 100, 120, 120), "memory") == 1.2


def test_too_few_samples_say_nothing():
    assert growth(samples(1, 2, 3), "memory") is None


def test_growth_and_refusals_miss_their_goals():
    flat = samples(*[100] * 8)
    growing = samples(*[100] * 6, 111, 111)
    assert all(goal.met for goal in goals(flat, Turns()))
    assert [goal.met for goal in goals(growing, Turns(refused=1))] == [False, True, True, False]


def test_results_are_written(tmp_path):
    write(samples(*[100] * 8), Turns(creates=3), tmp_path)
    assert json.loads((tmp_path / "soak.json").read_text())["done"]["creates"] == 3
    assert (tmp_path / "soak.png").stat().st_size > 0
