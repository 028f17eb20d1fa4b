import naive_coreset as naive
import numpy as np
import pytest
from scipy.cluster.vq import kmeans2
from scipy.spatial.distance import cdist

from synopses import Coreset, Items, ParameterError, QueryError

SEEDS = 40  # of each of the six inputs: 240 of the kind


def mixture(seed, n, dimensions=2, clusters=5):
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 10, (clusters, dimensions))
    return centres[rng.integers(0, clusters, n)] + rng.normal(size=(n, dimensions))


INPUTS = {
    "mixture": mixture,
    "uniform": lambda seed, n: np.random.default_rng(seed).random((n, 2)),
    "heavy tails": lambda seed, n: np.random.default_rng(seed).pareto(1.1, (n, 2)),
    "sorted": lambda seed, n: np.sort(np.random.default_rng(seed).random((n, 2)), axis=0),
    "constant": lambda seed, n: np.full((n, 2), float(seed)),
    "one far away": lambda seed, n: np.vstack([np.zeros((n - 1, 2)), [[1e6, -1e6 - seed]]]),
}


def cost(points, centres):
    return float((cdist(points, centres).min(axis=1) ** 2).sum())


def cost_on(coreset, centres):
    found = coreset.points().value
    points = np.array([entry["point"] for entry in found])
    weights = np.array([entry["weight"] for entry in found])
    return float(weights @ cdist(points, centres).min(axis=1) ** 2)


@pytest.mark.parametrize("dimensions", [1, 3])
def test_buckets_equal_the_naive_ones_also_after_merging(dimensions):
    sketches, twins = [], []
    for seed, n in ((1, 300), (2, 147)):
        points = np.round(mixture(seed, n, dimensions), 1)  # some points are equal
        sketches.append(Coreset(dimensions=dimensions, size=20))
        sketches[-1].add(Items.of(values=points))
        twins.append(naive.NaiveCoreset(20))
        twins[-1].add([tuple(point) for point in points.tolist()])
    for _ in range(2):
        expected = [(list(point), w) for level in twins[0].levels for point, w in level]
        found = [(entry["point"], entry["weight"]) for entry in sketches[0].points().value]
        assert found == expected
        assert sketches[0].arrays["moved"][0].tolist() == twins[0].moved
        sketches[0].merge(sketches[1])
        twins[0].merge(twins[1])


@pytest.mark.parametrize("name", INPUTS)
def test_the_cost_of_any_centres_lies_within_its_bounds(name):
    rng = np.random.default_rng(1)
    for seed in range(SEEDS):
        points = INPUTS[name](seed, 700)
        coreset = Coreset(size=40)
        coreset.add(Items.of(values=points[:450]))
        other = Coreset(size=40)
        other.add(Items.of(values=points[450:]))
        coreset.merge(other)
        for k in (1, 2, 3, 5, 8):
            centres = points[rng.integers(0, 700, k)] + rng.normal(size=(k, 2))
            lower, upper = coreset.bounds(cost_on(coreset, centres))
            assert lower <= cost(points, centres) <= upper


def test_its_centres_are_about_as_good_as_those_of_all_points():
    ours, theirs = [], []
    for seed in range(12):
        points = mixture(seed, 10_000)
        coreset = Coreset(size=200)
        coreset.add(Items.of(values=points))
        answer = coreset.centres(5)
        centres = np.array([found["point"] for found in answer.value])
        ours.append(cost(points, centres))
        theirs.append(min(cost(points, kmeans2(points, 5, seed=s, minit="++")[0]) for s in (1, 2)))
        assert answer.details["cost_lower"] <= ours[-1] <= answer.details["cost_upper"]
        assert sum(found["weight"] for found in answer.value) == 10_000
    assert np.median(np.array(ours) / np.array(theirs)) <= 1.05


def test_weights_sum_to_the_number_of_points():
    coreset = Coreset(size=10)
    for seed in range(30):
        coreset.add(Items.of(values=mixture(seed, 123)))
    assert sum(entry["weight"] for entry in coreset.points().value) == 30 * 123


def test_few_points_are_kept_as_they_are():
    coreset = Coreset(size=100)
    points = mixture(1, 90)
    coreset.add(Items.of(values=points))
    assert [entry["point"] for entry in coreset.points().value] == points.tolist()
    answer = coreset.cost(3)
    assert answer.upper == pytest.approx(answer.lower)


def test_one_dimension_takes_plain_values():
    coreset = Coreset(dimensions=1, size=10)
    coreset.add(Items.of(values=[1.0, 1.0, 9.0]))
    assert sorted(found["point"] for found in coreset.centres(2).value) == [[1.0], [9.0]]


def test_a_point_with_the_wrong_number_of_values_is_refused():
    with pytest.raises(ParameterError, match=r"value='3 fields': expected 2 fields"):
        Coreset(dimensions=2).add(Items.of(values=np.zeros((5, 3))))
    with pytest.raises(ParameterError, match=r"value='1 fields'"):
        Coreset(dimensions=2).add(Items.of(values=np.zeros(5)))


def test_points_that_are_not_finite_are_left_out():
    coreset = Coreset()
    coreset.add(Items.of(values=[[1.0, np.nan], [np.inf, 2.0], [3.0, 4.0]]))
    assert coreset.points().value == [{"point": [3.0, 4.0], "weight": 1.0}]


def test_answers_are_finite_for_the_largest_values():
    coreset = Coreset(size=4)
    coreset.add(Items.of(values=np.random.default_rng(1).choice([1e308, -1e308, 0.0], (50, 2))))
    answer = coreset.centres(2)
    assert np.isfinite(answer.details["cost"])
    assert Coreset.from_bytes(coreset.to_bytes()).to_bytes() == coreset.to_bytes()


def test_more_centres_than_a_bucket_has_points_are_refused():
    with pytest.raises(QueryError, match=r"query\.k"):
        Coreset(size=10).centres(11)


def test_one_dimension_merges_when_no_point_waits_for_its_bucket():
    parts = [Coreset(dimensions=1, size=2) for _ in range(2)]
    for part in parts:
        part.add(Items.of(values=[1.0, 2.0, 3.0, 4.0]))
    parts[0].merge(parts[1])
    assert sum(row["weight"] for row in parts[0].points().value) == 8
