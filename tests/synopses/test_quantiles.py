import datasketches
import inputs
import naive_quantiles as naive
import numpy as np
import pytest

from synopses import Items, ParameterError, Quantiles, QueryError

SEEDS = 200
SHARES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def values_of(name, seed, n):
    if name == "adversarial":  # zooms in: every value falls between the two before it
        halves = np.cumsum((-0.5) ** np.arange(40))
        return np.concatenate([halves, np.random.default_rng(seed).random(n - 40)])
    return inputs.keys(name, seed, n, universe=5_000).astype(float)


def filled_bank(template, columns):
    bank = {
        name: np.zeros((len(columns), *shape), dtype)
        for name, (dtype, shape) in template.layout().items()
    }
    for slot, column in enumerate(columns):
        slots = np.full(column.size, slot, np.int32)
        template.add_slots(bank, slots, Items.of(values=column))
    return [template.at(bank, slot) for slot in range(len(columns))]


def rank_errors(sketch, column):
    """How far the ranks of the answers are from the ranks asked for, and rank() from the truth."""
    ordered = np.sort(column)
    errors = []
    for share in SHARES:
        value = sketch.quantile(share).value
        low = np.searchsorted(ordered, value, "left") / column.size
        high = np.searchsorted(ordered, value, "right") / column.size
        errors.append(max(0.0, low - share, share - high))
        errors.append(abs(sketch.rank(value).value - high))
    return errors


@pytest.mark.parametrize("k", [8, 33, 200])
def test_levels_equal_the_naive_ones_also_after_merging(k):
    rng = np.random.default_rng(k)
    column, other_column = rng.normal(size=4_000), rng.exponential(size=2_500)
    sketch, other = Quantiles(k=k), Quantiles(k=k)
    sketch.add(Items.of(values=column))
    other.add(Items.of(values=other_column))
    twin, other_twin = naive.NaiveKll(k), naive.NaiveKll(k)
    twin.add(column.tolist())
    other_twin.add(other_column.tolist())
    for _ in range(2):
        expected = [item for level in twin.levels[::-1] for item in level]
        assert sketch.arrays["items"][0, : len(expected)].tolist() == expected
        assert sketch.arrays["sizes"][0, : len(twin.levels)].tolist() == [*map(len, twin.levels)]
        assert int(sketch.arrays["coins"][0]) == twin.coins
        sketch.merge(other)
        twin.merge(other_twin)


@pytest.mark.parametrize("name", inputs.NAMES)
def test_the_true_rank_is_within_the_stated_error_of_the_rank_asked_for(name):
    template = Quantiles(k=100)
    columns = [values_of(name, seed, 5_000) for seed in range(SEEDS)]
    errors = [
        rank_errors(s, c) for s, c in zip(filled_bank(template, columns), columns, strict=True)
    ]
    misses = (np.array(errors) > template.rank_error).mean(axis=0)
    assert misses.max() <= inputs.tolerated(0.01, SEEDS)


def test_the_error_holds_for_merged_parts_too():
    template = Quantiles(k=100)
    columns = [values_of("uniform", seed, 8_000) for seed in range(SEEDS)]
    parts = filled_bank(template, [part for column in columns for part in np.split(column, 8)])
    errors = []
    for seed, column in enumerate(columns):
        merged = Quantiles(k=100)
        for part in parts[8 * seed : 8 * seed + 8]:
            merged.merge(part)
        assert merged.quantile(0).details["n"] == 8_000
        errors.append(rank_errors(merged, column))
    misses = (np.array(errors) > template.rank_error).mean(axis=0)
    assert misses.max() <= inputs.tolerated(0.01, SEEDS)


def test_it_is_as_accurate_as_datasketches_and_states_the_same_error():
    columns = [np.random.default_rng(seed).normal(size=20_000) for seed in range(100)]
    ours, theirs = [], []
    for sketch, column in zip(filled_bank(Quantiles(k=200), columns), columns, strict=True):
        reference = datasketches.kll_doubles_sketch(200)
        reference.update(column)
        ordered = np.sort(column)
        for share in SHARES:
            ours.append(np.searchsorted(ordered, sketch.quantile(share).value) / 20_000 - share)
            theirs.append(np.searchsorted(ordered, reference.get_quantile(share)) / 20_000 - share)
    assert np.sqrt(np.mean(np.square(ours))) <= 1.15 * np.sqrt(np.mean(np.square(theirs)))
    for k in (8, 100, 200, 4000):
        stated = datasketches.kll_doubles_sketch.get_normalized_rank_error(k, False)
        assert Quantiles(k=k).rank_error == pytest.approx(stated)


def test_the_interval_holds_the_true_quantile_with_probability_99_percent():
    columns = [np.random.default_rng(seed).normal(size=5_000) for seed in range(SEEDS)]
    misses = np.zeros(len(SHARES))
    for sketch, column in zip(filled_bank(Quantiles(k=100), columns), columns, strict=True):
        truth = np.quantile(column, SHARES, method="inverted_cdf")
        answers = [sketch.quantile(share) for share in SHARES]
        misses += [not a.lower <= t <= a.upper for a, t in zip(answers, truth, strict=True)]
    assert misses.max() / SEEDS <= inputs.tolerated(0.01, SEEDS)


def test_few_values_are_answered_exactly():
    column = np.random.default_rng(1).normal(size=150)
    sketch = Quantiles(k=200)
    sketch.add(Items.of(values=column))
    for share in (0.0, 0.2, 0.5, 1.0):
        answer = sketch.quantile(share)
        truth = np.quantile(column, share, method="inverted_cdf")
        assert answer.lower == answer.value == answer.upper == truth
        assert answer.confidence == 1.0


def test_smallest_largest_and_count_are_exact():
    column = np.random.default_rng(2).normal(size=10_000)
    sketch = Quantiles(k=50)
    sketch.add(Items.of(values=column))
    assert sketch.quantile(0).value == column.min()
    assert sketch.quantile(1).value == column.max()
    assert sketch.rank(column.max()).value == 1
    assert sketch.quantile(0.5).details["n"] == 10_000


def test_histogram_and_cdf_agree_with_numpy_within_the_error():
    column = np.random.default_rng(3).normal(size=20_000)
    sketch = Quantiles(k=200)
    sketch.add(Items.of(values=column))
    answer = sketch.histogram(10)
    truth = np.histogram(column, 10)[0] / column.size
    assert sum(bucket["share"] for bucket in answer.value) == pytest.approx(1)
    for low, high, share in zip(answer.lower, answer.upper, truth, strict=True):
        assert low <= share <= high
    assert sketch.cdf([-1, 0, 1]).value == [sketch.rank(x).value for x in (-1, 0, 1)]
    as_text = sketch.estimate({"type": "cdf", "points": "-1, 0, 1"})
    assert as_text == sketch.estimate({"type": "cdf", "points": [-1, 0, 1]})


def test_sizing_by_error_keeps_the_error():
    for error in (0.2, 0.05, 0.01, 0.001):
        assert Quantiles.from_error(error).rank_error <= error
        assert Quantiles(k=Quantiles.from_error(error).k - 1 or 8).rank_error > error * 0.999


@pytest.mark.parametrize(
    "query",
    [{"q": 1.5}, {"q": "x"}]
    + [{"type": "cdf", "points": points} for points in ("1, x", "nan", ["1"], [True], [None])],
)
def test_questions_that_cannot_be_answered_are_refused(query):
    with pytest.raises(QueryError):
        Quantiles().estimate(query)


def test_negative_zero_and_zero_are_one_value():
    one, two = Quantiles(), Quantiles()
    one.add(Items.of(values=[0.0, 1.0]))
    two.add(Items.of(values=[-0.0, 1.0]))
    assert one.to_bytes() == two.to_bytes()


def test_absurd_sizes_are_refused():
    with pytest.raises(ParameterError, match="k=7"):
        Quantiles(k=7)
