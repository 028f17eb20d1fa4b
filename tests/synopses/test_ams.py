import inputs
import naive_count_min as naive
import numpy as np
import pytest

from synopses import AMS, Items

SEEDS = 200


def test_the_table_equals_the_naive_one():
    items = AMS.example_items(np.random.default_rng(1), 500)
    sketch = AMS(epsilon=0.4, delta=0.02, seed=7)
    sketch.add(items)
    units = (items.values * 1000).astype(np.int64)
    expected = naive.ams(items.keys, units, sketch.depth, sketch.width, 7)
    np.testing.assert_array_equal(sketch.arrays["table"][0], expected)


@pytest.mark.parametrize("name", inputs.NAMES)
def test_errors_stay_within_epsilon_norms(name):
    epsilon, delta, universe = 0.3, 0.1, 100
    misses = np.zeros(6)
    for seed in range(SEEDS):
        one, two = (AMS(epsilon=epsilon, delta=delta, seed=seed) for _ in "ab")
        a, b = (
            np.bincount(inputs.keys(name, 2 * seed + i, 300, universe), minlength=universe)
            for i in (0, 1)
        )
        for sketch, counts in ((one, a), (two, b)):
            sketch.add(Items.of(np.arange(universe), values=counts))
        f2, join = one.f2(), one.join_size(two)
        key = int(a.argmax())
        point = one.frequency(key)
        norm_a, norm_b = np.linalg.norm(a), np.linalg.norm(b)
        misses += (
            abs(f2.value - a @ a) > epsilon * norm_a**2,
            abs(join.value - a @ b) > epsilon * norm_a * norm_b,
            abs(point.value - a[key]) > epsilon * norm_a,
            not f2.lower <= a @ a <= f2.upper,
            not join.lower <= a @ b <= join.upper,
            not point.lower <= a[key] <= point.upper,
        )
    assert (misses / SEEDS <= inputs.tolerated(delta, SEEDS)).all(), misses


def test_negative_weights_cancel():
    sketch = AMS()
    sketch.add(Items.of(["a", "a", "b"], values=[2, -5, 1]))
    assert sketch.frequency("a").value == -3
    assert sketch.f2().value == 10


def test_epsilon_and_delta_follow_from_a_shape():
    sketch = AMS.from_shape(depth=6, width=3500)
    assert (sketch.depth, sketch.width) == (7, 3500)
    assert sketch.epsilon == pytest.approx(1 / 10)
