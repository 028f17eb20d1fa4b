"""The example plug-in against an exact recomputation in plain Python."""

import inspect
from fractions import Fraction

import numpy as np
import pytest

from synopses import Items, MergeError, QueryError, StateError, Synopsis
from synopses.examples import geofence
from synopses.examples.geofence import Geofence
from synopses.laws import damaged_bytes_are_refused, forged_payloads_do_no_harm, laws

TRIANGLE = [[-5, -5], [5, -5], [0, 8]]
STAR = [[0, 10], [6, -8], [-9, 3], [9, 3], [-6, -8]]  # its middle is outside: seen twice
NOTCHED = [[-8, -8], [8, -8], [8, 8], [0, -2], [-8, 8]]


def walks(seed, n=2000, movers=60):
    """Movers that report now and then, some twice at one time, and not in order."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, movers, n)
    times = rng.integers(0, 300, n) + np.arange(n) // 10
    # Whole numbers now and then: positions on the edges and corners of areas.
    places = np.where(
        rng.random((n, 1)) < 0.5, rng.uniform(-10, 10, (n, 2)), rng.integers(-9, 9, (n, 2))
    )
    return [(f"mover {w}", int(t), *p) for w, t, p in zip(who, times, places.tolist(), strict=True)]


def items_of(positions):
    keys, times, *places = zip(*positions, strict=True)
    return Items.of(list(keys), np.array(places).T, times)


def fleet_of(positions, **params):
    fleet = Geofence(**params)
    fleet.add(items_of(positions))
    return fleet


def newest_two(positions):
    """Of each mover its newest positions (time, x, y), one at a time, the last first."""
    by_mover = {}
    for key, time, x, y in positions:
        at = by_mover.setdefault(key, {})
        at[time] = max(at.get(time, (x, y)), (x, y))
    return {
        key: [(time, *at[time]) for time in sorted(at, reverse=True)[:2]]
        for key, at in by_mover.items()
    }


def contains(polygon, x, y):
    """Even-odd rule in exact arithmetic."""
    odd, point = False, (Fraction(x), Fraction(y))
    for (x1, y1), (x2, y2) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        if (y1 <= y) != (y2 <= y):
            crossing = x1 + (point[1] - y1) * Fraction(x2 - x1) / Fraction(y2 - y1)
            odd ^= point[0] < crossing
    return odd


def shown(key, last, *before):
    places = [dict(zip(("time", "x", "y"), place, strict=True)) for place in (last, *before)]
    return {"key": key, **places[0], **({"before": places[1]} if before else {})}


def by_name(answer):
    assert [mover["time"] for mover in answer.value] == sorted(
        (mover["time"] for mover in answer.value), reverse=True
    )
    return sorted(answer.value, key=lambda mover: mover["key"])


@pytest.mark.parametrize("law", list(laws()), ids=lambda law: law.__name__)
def test_it_obeys_every_law(law):
    law(Geofence)


def test_a_thousand_forged_and_ten_thousand_damaged_states_do_no_harm():
    forged_payloads_do_no_harm(Geofence, cases=1_000)
    damaged_bytes_are_refused(Geofence, cases=10_000)


@pytest.mark.parametrize("area", [TRIANGLE, STAR, NOTCHED, TRIANGLE[::-1], [*STAR, STAR[0]]])
@pytest.mark.parametrize("since", [0, 450])
def test_every_answer_equals_the_exact_recomputation(area, since):
    asked = 0
    for seed in range(10):
        positions = walks(seed)
        fleet, known = fleet_of(positions), newest_two(positions)
        recent = {key: kept for key, kept in known.items() if kept[0][0] >= since}
        within = {key: [contains(area, x, y) for _, x, y in kept] for key, kept in recent.items()}
        for question, wanted in (("inside", [True]), ("entered", [True, False])):
            expected = [shown(k, *recent[k]) for k in within if within[k][: len(wanted)] == wanted]
            found = by_name(fleet.estimate({"type": question, "polygon": area, "since": since}))
            assert found == sorted(expected, key=lambda mover: mover["key"])
            asked += len(expected)
        left = sorted(key for key in within if within[key] == [False, True])
        assert [mover["key"] for mover in by_name(fleet.left(area, since))] == left
        everywhere = sum(contains(area, *kept[0][1:]) for kept in known.values())
        assert fleet.count(area).value == everywhere
        for key in ("mover 0", "mover 59"):
            assert fleet.position(key).value == shown(key, *known[key])
    assert asked > 50


@pytest.mark.parametrize("movers", [1, 7, 59, 60, 61])
def test_the_movers_seen_last_stay_and_the_answer_tells_since_when_it_is_complete(movers):
    everywhere = [[-99, -99], [99, -99], [99, 99], [-99, 99]]
    for seed in range(10):
        positions = walks(seed, n=400)
        known = newest_two(positions)
        fleet = fleet_of(positions, movers=movers)
        answer = fleet.inside(everywhere)
        found = {mover["key"]: mover for mover in answer.value}
        assert len(found) == min(movers, len(known))
        left_out = max((known[key][0][0] for key in known.keys() - found.keys()), default=None)
        assert answer.details == {"complete_after": left_out}
        for key, mover in found.items():
            last, *before = known[key]
            assert left_out is None or last[0] >= left_out
            before = [place for place in before if left_out is None or place[0] > left_out]
            assert mover == shown(key, last, *before)


@pytest.mark.parametrize("movers", [3, 25, 1000])
def test_order_batches_repeats_and_parts_do_not_matter(movers):
    for seed in range(10):
        positions, rng = walks(seed, n=300), np.random.default_rng(seed)
        whole = fleet_of(positions, movers=movers).to_bytes()
        mixed = [positions[i] for i in rng.permutation(len(positions))]
        one_by_one, merged = Geofence(movers=movers), Geofence(movers=movers)
        for position in mixed:
            one_by_one.add(items_of([position]))
        for part in range(5):
            merged.merge(fleet_of(mixed[part::5] + mixed[:20], movers=movers))
        assert one_by_one.to_bytes() == whole
        assert merged.to_bytes() == whole
        assert Geofence.from_bytes(whole).to_bytes() == whole


def test_every_place_is_in_exactly_one_of_the_areas_that_cover_the_plane():
    rng = np.random.default_rng(3)
    inner = rng.uniform(0.1, 0.9, (5, 5, 2)) + np.indices((5, 5)).T  # crooked corners
    corners = {(i, j): inner[j, i].tolist() for i in range(5) for j in range(5)}
    triangles = []
    for i in range(4):
        for j in range(4):
            a, b, c, d = (corners[i + di, j + dj] for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1)))
            triangles += [[a, b, c], [c, d, a][:: rng.choice([-1, 1])]]
    # Inner corners, points on the shared diagonals, and anywhere between.
    points = [corners[i, j] for i in (1, 2, 3) for j in (1, 2, 3)]
    points += [((np.array(a) + c) / 2).tolist() for a, _, c in triangles[::2]]
    points += rng.uniform(1, 4, (500, 2)).tolist()
    points = [p for p in points if 0.9 < p[0] < 4.1 and 0.9 < p[1] < 4.1]
    fleet = fleet_of([(f"{n}", 0, *point) for n, point in enumerate(points)])
    found = [mover["key"] for area in triangles for mover in fleet.inside(area).value]
    assert sorted(found, key=int) == [str(n) for n in range(len(points))]


@pytest.mark.parametrize(
    "polygon",
    [
        [],
        [[0, 0], [1, 1]],
        [[0, 0], [1, 1], [2]],
        [[0, 0], [1, 1], [2, "3"]],
        [[0, 0], [1, 1], [2, True]],
        [[0, 0], [1, 1], [2, float("nan")]],
        [[0, 0], [1, 1], [2, 10**400]],
        [[0, 0], [1, 1], {"x": 2, "y": 3}],
        [[[0, 0], [1, 1], [2, 2]]],
        [[0, 0]] * 1001,
        "0,0 1,1 2,2",
        {"type": "Polygon"},
        None,
    ],
)
def test_what_is_no_area_is_refused(polygon):
    with pytest.raises(QueryError, match=r"query\.polygon=.*expected"):
        Geofence().estimate({"polygon": polygon})


def test_an_area_is_needed_and_says_so_in_the_declaration():
    with pytest.raises(QueryError, match="expected a list"):
        Geofence().estimate({"type": "inside"})
    (polygon, since) = Geofence.questions["inside"].declaration()["arguments"]
    assert (polygon["type"], polygon["expected"]) == ("list", "a list of at most 1,000 entries")
    assert since["default"] == 0


def test_a_mover_nobody_saw_has_no_position():
    fleet = fleet_of([("ann", 5, 1.0, 2.0)])
    assert fleet.position("bob").value is None
    assert fleet.position("ann").value == {"key": "ann", "time": 5, "x": 1.0, "y": 2.0}
    assert fleet.entered([[0, 0], [2, 0], [2, 3], [0, 3]]).value == []  # came from nowhere known


def test_names_may_be_numbers_or_long():
    ship, long = 244660000, "é" * 30
    fleet = Geofence()
    fleet.add(Items.of([ship, ship], np.ones((2, 2)), [1, 2]))
    fleet.add(Items.of([long, long + "!"], np.ones((2, 2)), [3, 4]))
    assert fleet.position(ship).value == fleet.position("244660000").value
    assert fleet.position(long).value["time"] == 3
    assert fleet.position(long + "!").value == {
        "key": "é" * 20 + "…",
        "time": 4,
        "x": 1.0,
        "y": 1.0,
    }


def test_items_without_two_values_are_refused():
    with pytest.raises(ValueError, match="2"):
        Geofence().add(Items.of(["a", "b", "c"], [1.0, 2.0, 3.0]))


def test_movers_of_another_number_do_not_merge_and_other_bytes_do_not_load():
    with pytest.raises(MergeError):
        Geofence(movers=5).merge(Geofence(movers=6))
    with pytest.raises(StateError):
        Geofence()._load(memoryview(b"12345"))


def test_the_file_is_a_plug_in():
    """One public class of its own, a synopsis whose kind is the file's name."""
    members = inspect.getmembers(geofence, inspect.isclass)
    (cls,) = (
        member
        for name, member in members
        if not name.startswith("_") and member.__module__ == geofence.__name__
    )
    assert issubclass(cls, Synopsis)
    assert cls.kind == "geofence"
