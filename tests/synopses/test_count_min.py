import inputs
import naive_count_min as naive
import numpy as np
import pytest

from synopses import ConservativeCountMin, CountMin, Items, MergeError, ParameterError

SEEDS = 200
KINDS = pytest.mark.parametrize("cls", [CountMin, ConservativeCountMin])


def bank_of(template, slots):
    return {n: np.zeros((slots, *shape), t) for n, (t, shape) in template.layout().items()}


@KINDS
def test_the_table_equals_the_naive_one(cls):
    items = cls.example_items(np.random.default_rng(1), 500)
    sketch = cls(epsilon=0.03, delta=0.02, seed=7)
    sketch.add(items)
    make = naive.count_min if cls is CountMin else naive.conservative
    units = (items.values * 1000).astype(np.int64)
    expected = make(items.keys, units, sketch.depth, sketch.width, 7)
    np.testing.assert_array_equal(sketch.arrays["table"][0], expected)


@KINDS
@pytest.mark.parametrize("name", inputs.NAMES)
def test_weight_le_estimate_le_weight_plus_epsilon_total(cls, name):
    template = cls(epsilon=0.05, delta=0.05)
    bank, n, universe = bank_of(template, SEEDS), 400, 100
    keys = np.concatenate([inputs.keys(name, seed, n, universe) for seed in range(SEEDS)])
    # Keys get the seed in front, so that every slot has collisions of its own.
    texts = [f"{i // n}/{key}" for i, key in enumerate(keys.tolist())]
    slots = np.repeat(np.arange(SEEDS, dtype=np.int32), n)
    template.add_slots(bank, slots, Items.of(texts))
    misses = asked = 0
    for seed in range(SEEDS):
        sketch = template.at(bank, seed)
        found, counts = np.unique(keys[seed * n : (seed + 1) * n], return_counts=True)
        for key, count in list(zip(found.tolist(), counts.tolist(), strict=True))[:8]:
            answer = sketch.frequency(f"{seed}/{key}")
            assert answer.value >= count
            assert answer.upper >= count
            misses += answer.value > count + 0.05 * n
            misses += answer.lower > count
            asked += 1
        assert sketch.total().value == n
    assert misses / asked <= inputs.tolerated(0.05, asked)


def test_conservative_update_never_exceeds_the_plain_estimate():
    items = Items.of(inputs.keys("zipf 1.1", 3, 3000, 500))
    plain, careful = CountMin(epsilon=0.05), ConservativeCountMin(epsilon=0.05)
    for sketch in (plain, careful):
        sketch.add(items)
    gained = [plain.frequency(key).value - careful.frequency(key).value for key in range(0, 500, 7)]
    assert min(gained) >= 0
    assert sum(gained) > 0


def test_inner_product_stays_within_epsilon_times_both_totals():
    misses = 0
    for seed in range(SEEDS):
        a, b = (inputs.keys("zipf 1.1", 2 * seed + i, 300, 50) for i in (0, 1))
        one, two = (
            CountMin(epsilon=0.1, delta=0.1, seed=seed),
            CountMin(epsilon=0.1, delta=0.1, seed=seed),
        )
        one.add(Items.of(a))
        two.add(Items.of(b))
        exact = int(np.bincount(a, minlength=50) @ np.bincount(b, minlength=50))
        answer = one.inner_product(two)
        assert answer.value >= exact
        misses += not answer.lower <= exact <= answer.upper
    assert misses / SEEDS <= inputs.tolerated(0.1, SEEDS)


def test_negative_weights_get_two_sided_bounds():
    misses = asked = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        keys, weights = rng.integers(0, 200, 500), rng.integers(-5, 6, 500)
        sketch = CountMin(epsilon=0.02, delta=0.05, seed=seed)
        sketch.add(Items.of(keys, values=weights))
        exact = np.bincount(keys, weights, minlength=200)
        for key in range(0, 200, 40):
            answer = sketch.frequency(key)
            misses += not answer.lower <= exact[key] <= answer.upper
            asked += 1
    assert misses / asked <= inputs.tolerated(1 - answer.confidence, asked)


def test_deleting_what_was_added_leaves_nothing():
    sketch = CountMin()
    sketch.add(Items.of(["a", "b"], values=[2.5, 1.25]))
    sketch.add(Items.of(["a", "b"], values=[-2.5, -1.25]))
    assert sketch.frequency("a").value == 0
    assert sketch.total().value == 0


def test_conservative_update_leaves_out_weights_that_are_not_positive():
    sketch = ConservativeCountMin()
    sketch.add(Items.of(["a", "a", "a"], values=[2, -1, 0]))
    assert sketch.frequency("a").value == 2
    assert sketch.total().value == 2


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", 0), ("epsilon", 1), ("delta", -1), ("seed", 1.5)]
)
def test_a_bad_parameter_is_named(name, value):
    with pytest.raises(ParameterError, match=name):
        CountMin(**{name: value})


def test_a_synopsis_above_the_size_limit_is_refused():
    with pytest.raises(ParameterError, match="268,435,456 bytes"):
        CountMin(epsilon=1e-8)


def test_another_seed_does_not_merge():
    with pytest.raises(MergeError):
        CountMin(seed=1).merge(CountMin(seed=2))


def test_the_number_12_and_the_text_12_are_one_key():
    sketch = CountMin()
    sketch.add(Items.of([12]))
    sketch.add(Items.of([12.0]))
    sketch.add(Items.of(["12"]))
    assert [sketch.frequency(key).value for key in (12, 12.0, "12")] == [3, 3, 3]
