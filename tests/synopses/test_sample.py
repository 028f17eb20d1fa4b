import inputs
import naive_sample as naive
import numpy as np
import pytest
from scipy import stats

from synopses import ChainSample, Items, ParameterError, Sample, StateError
from synopses.laws import check


class WeightedSample(Sample):
    """The other option of the kind."""

    kind = "weighted_sample"

    @classmethod
    def example(cls):
        return cls(k=50, weighted=True)


class SampleOfThreeFields(Sample):
    """Records with more than one value."""

    kind = "sample_of_three_fields"

    @classmethod
    def example(cls):
        return cls(k=20, fields=3, max_key_bytes=11)

    @classmethod
    def example_items(cls, rng, n):
        return Items.of(rng.integers(0, 99, n), values=rng.normal(2, 1, (n, 3)))


def bank_of(template, slots):
    return {n: np.zeros((slots, *shape), t) for n, (t, shape) in template.layout().items()}


def filled_bank(template, slots, values, rng):
    """Each slot gets the same values as records of its own."""
    bank, n = bank_of(template, slots), len(values)
    items = Items.of(
        keys=np.tile(np.arange(n), slots),
        values=np.tile(values, slots),
        ids=rng.integers(0, 2**63, n * slots),
    )
    template.add_slots(bank, np.repeat(np.arange(slots, dtype=np.int32), n), items)
    return [template.at(bank, slot) for slot in range(slots)]


def test_the_weighted_sample_obeys_the_laws_too():
    check(WeightedSample)


def test_the_sample_of_several_fields_obeys_the_laws_too():
    check(SampleOfThreeFields)


@pytest.mark.parametrize("kind", [Sample, ChainSample])
def test_all_fields_of_a_record_are_kept_together(kind):
    rng = np.random.default_rng(1)
    values = rng.normal(0, 1e6, (3_000, 4))
    keys = [f"the key of {number}" for number in range(len(values))]
    sample = kind(k=50, fields=4, max_key_bytes=13)
    sample.add(Items.of(keys, values=values, times=np.arange(len(values))))
    again = kind.from_bytes(sample.to_bytes())
    records = again.sample().value
    assert len(records) == 50
    for record in records:
        assert record["values"] == values[record["time"]].tolist()
        assert record["key"].rstrip("…") == keys[record["time"]][:13]


def test_one_field_more_or_less_than_declared_is_refused():
    with pytest.raises(ParameterError, match="expected 3 fields"):
        Sample(fields=3).add(Items.of(values=np.ones((5, 2))))


def test_a_further_value_that_is_no_number_is_refused_in_a_state():
    sample = Sample(k=5, fields=2)
    sample.add(Items.of(values=np.ones((3, 2))))
    sample.arrays["records"][0, 1, -1] = np.float64(np.nan).view(np.uint64)
    with pytest.raises(StateError):
        Sample.from_bytes(sample.to_bytes())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [5, 40, 41, 42, 1_000])
def test_the_sample_equals_the_naive_one(weighted, n):
    rng = np.random.default_rng(n)
    items = Items.of(
        rng.integers(0, 50, n),
        values=rng.normal(2, 2, n),
        times=rng.integers(-10, 10**12, n),
        ids=rng.integers(0, 2**63, n),
    )
    sketch = Sample(k=40, weighted=weighted, seed=3)
    sketch.add(items)
    expected, threshold = naive.sample(items, 40, weighted, 3)
    assert sketch.sample().value == expected
    if threshold is not None:
        assert sketch.arrays["records"][0, 40, :1].view(np.float64)[0] == threshold


@pytest.mark.parametrize("place", ["first", "last", "anywhere"])
def test_every_record_is_equally_likely(place):
    samples = filled_bank(Sample(k=10), 2_000, np.arange(50.0), np.random.default_rng(1))
    chosen = np.zeros(50)
    for sketch in samples:
        chosen[[int(record["value"]) for record in sketch.sample().value]] += 1
    groups = {"first": chosen[:5], "last": chosen[-5:], "anywhere": chosen}[place]
    # Without replacement the counts vary by 1 - k/n less than chi-square supposes.
    statistic = ((groups - 400) ** 2 / (400 * 0.8)).sum()
    assert stats.chi2.sf(statistic, groups.size) > 1e-3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 2, 10, 100])
@pytest.mark.parametrize("name", inputs.NAMES)
def test_the_population_lies_within_its_bounds_and_is_not_biased(name, k, weighted):
    values = inputs.keys(name, k, 600).astype(float) + 1
    truth = values.sum() if weighted else 600
    samples = filled_bank(Sample(k=k, weighted=weighted), 400, values, np.random.default_rng(3))
    answers = [sketch.population() for sketch in samples]
    misses = np.mean([not a.lower <= truth <= a.upper for a in answers])
    assert misses <= inputs.tolerated(0.05, 400)
    if k > 2:  # the variance is infinite for one or two
        found = np.array([answer.value for answer in answers])
        assert abs(found.mean() - truth) <= 4 * found.std() / np.sqrt(400)


def test_heavy_records_are_always_in_a_weighted_sample():
    values = np.concatenate([[1e6, 1e6], np.ones(500)])
    for sketch in filled_bank(Sample(k=10, weighted=True), 200, values, np.random.default_rng(4)):
        assert sum(record["value"] == 1e6 for record in sketch.sample().value) == 2


def test_other_seeds_give_other_samples():
    items = Items.of(values=np.arange(1_000))
    samples = []
    for seed in (1, 2):
        sketch = Sample(k=20, seed=seed)
        sketch.add(items)
        samples.append({record["value"] for record in sketch.sample().value})
    assert len(samples[0] & samples[1]) < 5


def test_batches_without_identities_are_kept_apart_by_what_they_hold():
    sketch = Sample(k=10)
    sketch.add(Items.of(["a", "b"]))
    sketch.add(Items.of(["c", "d"]))
    assert sketch.population().value == 4


def test_answers_are_finite_for_the_largest_values():
    for weighted in (False, True):
        sketch = Sample(k=3, weighted=weighted)
        sketch.add(Items.of(values=np.array([1e308, 1.7e308, 1e-308, 5e307, 1e308])))
        assert np.isfinite(sketch.population().upper)
