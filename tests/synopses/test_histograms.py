import numpy as np
import pytest

from synopses import Histogram, Items, LogHistogram, ParameterError, QueryError

SEEDS = 200
QUANTILES = (0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0)
SHAPES = ("uniform", "lognormal", "both signs", "sorted", "constant", "adversarial")


def values_of(name, seed, n=400):
    rng = np.random.default_rng(seed)
    return {
        "uniform": rng.uniform(0, 100, n),
        "lognormal": rng.lognormal(2, 2, n),
        "both signs": rng.standard_t(1.5, n) * 10,
        "sorted": np.sort(rng.exponential(20, n)),
        "constant": np.full(n, rng.uniform(1, 100)),
        "adversarial": np.r_[np.zeros(n // 4), np.linspace(0, 100, n // 2), np.full(n // 4, 100)],
    }[name]


def exact_quantile(values, q):
    """The smallest value whose rank is at least q."""
    return np.sort(values)[max(1, int(np.ceil(q * len(values)))) - 1]


def filled(sketch, values):
    sketch.add(Items.of(values=values))
    return sketch


@pytest.mark.parametrize("name", SHAPES)
def test_counts_are_those_of_numpy(name):
    for seed in range(50):
        values = values_of(name, seed)
        answer = filled(Histogram(low=0, high=100, buckets=37), values).counts()
        counts, edges = np.histogram(values, bins=37, range=(0, 100))
        assert answer.value == counts.tolist()
        assert answer.details["edges"] == edges.tolist()
        assert answer.details["below"] == (values < 0).sum()
        assert answer.details["above"] == (values > 100).sum()


@pytest.mark.parametrize("name", SHAPES)
def test_a_quantile_lies_in_its_bucket_always(name):
    for seed in range(SEEDS):
        values = values_of(name, seed)
        sketch = filled(Histogram(low=0, high=100, buckets=50), values)
        for q in QUANTILES:
            exact, answer = exact_quantile(values, q), sketch.quantile(q)
            assert answer.lower is None or answer.lower <= exact
            assert answer.upper is None or answer.upper >= exact
            if 0 <= exact <= 100:
                assert abs(answer.value - exact) <= 2.0001


@pytest.mark.parametrize("name", SHAPES)
def test_a_quantile_is_off_by_at_most_the_relative_error(name):
    for seed in range(SEEDS):
        values = values_of(name, seed)
        sketch = filled(LogHistogram(relative_error=0.05, smallest=1e-3, largest=1e6), values)
        for q in QUANTILES:
            exact, answer = exact_quantile(values, q), sketch.quantile(q)
            if 1e-3 <= abs(exact) <= 1e6:
                assert abs(answer.value - exact) <= 0.05 * abs(exact) * (1 + 1e-9)
                assert answer.lower <= exact <= answer.upper
            elif abs(exact) < 1e-3:
                assert answer.value == 0


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    "sketch", [Histogram(low=0, high=100), LogHistogram(smallest=1e-3)], ids=lambda s: s.kind
)
def test_a_rank_lies_within_its_bounds_always(sketch, name):
    for seed in range(50):
        values = values_of(name, seed)
        mine = filled(type(sketch)(**sketch.params), values)
        for value in (-5.0, 0.0, 0.5, 12.25, 99.9, 100.0, 1e9):
            answer = mine.rank(value)
            assert answer.lower - 1e-12 <= (values <= value).mean() <= answer.upper + 1e-12


@pytest.mark.parametrize(
    "sketch",
    [
        LogHistogram.example(),
        LogHistogram(),
        LogHistogram(relative_error=0.5, smallest=1e-300, largest=1e300),
        LogHistogram(relative_error=1e-4, smallest=1e-9, largest=1e9),  # many edges in a cell
        LogHistogram(relative_error=1e-5, smallest=1.0, largest=1.0001),
    ],
    ids=repr,
)
def test_log_buckets_equal_a_naive_search(sketch):
    rng = np.random.default_rng(3)
    near = np.r_[sketch._edges, np.nextafter(sketch._edges, 0), np.nextafter(sketch._edges, 1e308)]
    far = [0.0, 5e-324, 1.7e308]
    values = np.r_[np.exp(rng.uniform(-50, 50, 2000)), rng.choice(near, 5000), near[:500], far]
    filled(sketch, np.r_[values, -values])
    edges = np.r_[-sketch._edges[::-1], sketch._edges]
    # Buckets are closed towards zero: on the left if positive, on the right if negative.
    places = np.r_[np.searchsorted(edges, values, "right"), np.searchsorted(edges, -values, "left")]
    expected = np.bincount(places, minlength=len(edges) + 1)
    np.testing.assert_array_equal(sketch.arrays["counts"][0], expected)


def test_what_lies_beyond_the_range_has_one_bound():
    sketch = filled(LogHistogram(smallest=1.0, largest=10.0), np.array([1e9, -1e9, 5.0]))
    low, high = sketch.quantile(0.0), sketch.quantile(1.0)
    assert (low.lower, high.upper) == (None, None)
    assert low.upper <= -10
    assert high.lower >= 10


def test_empty_histograms_answer_with_none():
    for sketch in (Histogram(), LogHistogram()):
        assert sketch.quantile(0.5).value is None
        assert sketch.rank(1.0).value is None


def test_questions_and_parameters_out_of_range_are_named():
    with pytest.raises(QueryError, match=r"query.q"):
        Histogram().quantile(1.5)
    with pytest.raises(ParameterError, match="high"):
        Histogram(low=5, high=5)
    with pytest.raises(ParameterError, match="buckets"):
        Histogram(low=1e16, high=1e16 + 2, buckets=100)
    with pytest.raises(ParameterError, match="largest"):
        LogHistogram(smallest=2, largest=1)


def test_the_whole_range_of_floats_has_buckets():
    sketch = LogHistogram(relative_error=0.1, smallest=1e-300, largest=1e300)
    filled(sketch, np.array([1e-299, 1e299, -1.0, 5e-324, 1.7e308]))
    assert sketch.quantile(0.0).value == pytest.approx(-1, rel=0.1)
    assert sketch.quantile(0.8).value == pytest.approx(1e299, rel=0.1)


@pytest.mark.parametrize("cls", [Histogram, LogHistogram])
def test_counts_beyond_what_can_be_summed_up_are_called_saturated_and_still_readable(cls):
    synopsis = cls.example()
    synopsis.arrays["counts"][0, 3] = 2**61
    for _ in range(3):
        synopsis.merge(cls.from_bytes(synopsis.to_bytes()))
        synopsis.add(Items.of(values=[5.0]))
        again = cls.from_bytes(synopsis.to_bytes())
        for query in (
            {"type": "quantile", "q": 0.5},
            {"type": "rank", "value": 5},
            {"type": "counts"},
        ):
            answer = again.estimate(query)
            assert (answer.value, answer.details) == (None, {"saturated": True})
