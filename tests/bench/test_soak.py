import json

from bench.soak.report import goals, write
from bench.soak.samples import ROOM, SECONDS, Sample, growth
from bench.soak.turns import Turns

MB = 1_000_000


def samples(*memory, files=100):
    return [
        Sample(SECONDS * i, int(m // 2), int(m - m // 2), MB, 10, MB, 10, MB, 0, files)
        for i, m in enumerate(memory)
    ]


def test_a_figure_grows_by_the_median_slope_of_the_second_half():
    flat = [1000 * MB] * 10
    rising = [1000 * MB + step * MB * 100 / 9 for step in range(10)]
    assert growth(samples(*flat, *flat), "memory") == 0
    assert abs(growth(samples(*flat, *rising), "memory") - 100 / (1050 * 0.05)) < 0.01
    assert growth(samples(*rising, *flat), "memory") == 0


def test_a_few_samples_far_off_are_no_growth():
    spiky = [1000 * MB] * 18 + [2000 * MB, 1000 * MB]
    assert growth(samples(*spiky), "memory") == 0


def test_what_is_small_may_move_within_its_room():
    assert growth(samples(*[step * MB for step in range(20)]), "memory") < 1


def test_too_few_samples_say_nothing():
    assert growth(samples(1, 2, 3, 4, 5), "memory") is None


def test_growth_and_refusals_miss_their_goals():
    flat = samples(*[1000 * MB] * 20)
    growing = samples(*[1000 * MB + step * 30 * MB for step in range(20)])
    assert all(goal.met for goal in goals(flat, Turns()))
    missed = [goal.name for goal in goals(growing, Turns(refused=1)) if not goal.met]
    assert missed == ["growth of the memory in the second half, of what it may", "requests refused"]


def test_results_are_written(tmp_path):
    write(samples(*[100] * 8), Turns(creates=3), tmp_path)
    assert json.loads((tmp_path / "soak.json").read_text())["done"]["creates"] == 3
    assert (tmp_path / "soak.png").stat().st_size > 0
    assert set(ROOM) <= set(dir(Sample))
