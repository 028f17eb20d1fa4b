import naive_trajectory as naive
import numpy as np
import pytest

from synopses import Items, MergeError, ParameterError, QueryError, Trajectory
from synopses.kernels.trajectory import distance, turn

HERE = [37.94, 23.64, 180.0, 10.0]


def tuples(ship):
    return [tuple(position.values()) for position in ship.track().value]


@pytest.mark.parametrize("limits", [(60, 100, 1, 5), (1e9, 500, 99, 360), (30, 1e8, 0.2, 2)])
def test_the_track_equals_the_naive_one(limits):
    names = ("min_period", "min_distance", "min_speed_change", "min_course_change")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        items = Trajectory.example_items(rng, 500)
        items.times[rng.integers(0, 500, 20)] -= 600_000  # some come late
        items.values[rng.integers(0, 500, 5), 0] = 91.0  # some are off the globe
        ship = Trajectory(capacity=1000, **dict(zip(names, limits, strict=True)))
        ship.add(items)
        expected = naive.track(items.times.tolist(), items.values.tolist(), *limits)
        assert tuples(ship) == expected
        ring = Trajectory(capacity=7, **dict(zip(names, limits, strict=True)))
        ring.add(items)
        assert tuples(ring) == expected[-7:]
        assert ring.last().value == ship.track(1).value[0]


def test_a_position_left_out_differs_by_less_than_every_limit():
    for seed in range(200):
        items = Trajectory.example_items(np.random.default_rng(seed), 200)
        ship = Trajectory(capacity=200)
        ship.add(items)
        kept = np.array(tuples(ship))
        before = kept[np.searchsorted(kept[:, 0], items.times, "right") - 1]
        left_out = ~np.isin(items.times, kept[:, 0])
        gap = np.abs(items.values - before[:, 1:])[left_out]
        assert ((items.times - before[:, 0])[left_out] < 60_000).all()
        assert (gap[:, 3] < 1).all()
        assert (gap[:, 2] < 5).all()
        assert (gap[:, :2] * 111_000 < 130).all()


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ([0, 0, 0, 0], False),
        ([0.0008, 0, 0, 0], False),  # 89 m
        ([0.001, 0, 0, 0], True),  # 111 m
        ([0, 0, 4.9, 0], False),
        ([0, 0, 5.0, 0], True),
        ([0, 0, 0, -0.9], False),
        ([0, 0, 0, -1.0], True),
    ],
)
def test_each_limit_counts_by_itself(change, kept):
    ship = Trajectory()
    ship.add(Items.of(values=np.array([HERE, np.add(HERE, change)]), times=[0, 1]))
    assert len(ship.track().value) == 1 + kept


def test_a_course_turns_through_north_the_short_way():
    assert turn(359.0, 2.0) == 3.0
    assert turn(2.0, 359.0) == 3.0
    assert turn(0.0, 180.0) == 180.0


def test_distances_are_those_of_the_great_circle():
    rng = np.random.default_rng(1)
    for _ in range(300):
        a, b = rng.uniform([-90, -180], [90, 180], (2, 2))
        assert distance(*a, *b) == pytest.approx(naive.distance(a, b), rel=1e-9, abs=1e-3)
    assert distance(0.0, 179.9995, 0.0, -179.9995) == pytest.approx(111.2, abs=0.1)


def test_late_positions_and_positions_off_the_globe_are_left_out():
    ship = Trajectory(min_period=0)
    values = np.array([HERE, HERE, [95.0, *HERE[1:]], [HERE[0], 200.0, *HERE[2:]]])
    ship.add(Items.of(values=values, times=[1_000, 999, 2_000, 3_000]))
    answer = ship.track()
    assert [position["time"] for position in answer.value] == [1_000]
    assert answer.details == {"kept": 1, "seen": 2}


def test_an_item_without_four_values_is_refused():
    with pytest.raises(ParameterError, match="latitude, longitude, course, speed"):
        Trajectory().add(Items.of(values=np.zeros((3, 2))))
    with pytest.raises(ParameterError, match="1 fields"):
        Trajectory().add(Items.of(values=np.zeros(3)))


def test_it_is_not_mergeable_and_says_so():
    with pytest.raises(MergeError, match="not mergeable"):
        Trajectory().merge(Trajectory())


def test_an_empty_track_has_no_last_position():
    assert Trajectory().last().value is None
    with pytest.raises(QueryError, match="limit"):
        Trajectory().track(-1)
