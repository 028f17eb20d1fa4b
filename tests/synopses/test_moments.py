from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from synopses import Items, Moments

SPREAD = "uniform", "huge and tiny", "cancelling", "integers", "subnormal", "constant"


def values_of(name, seed, n=300):
    rng = np.random.default_rng(seed)
    return {
        "uniform": rng.uniform(-1, 3, n),
        "huge and tiny": rng.normal(size=n) * 10.0 ** rng.integers(-150, 100, n),
        "cancelling": np.r_[rng.normal(size=n // 2), [1e60, -1e60], rng.normal(size=n // 2)],
        "integers": rng.integers(-50, 90, n).astype(float),
        "subnormal": rng.integers(-9, 20, n) * 5e-324,
        "constant": np.full(n, 0.1),
    }[name]


def summary_of(values):
    moments = Moments()
    moments.add(Items.of(values=values))
    return moments.summary().value


def naive_summary(values):
    exact = [Fraction(v) for v in values.tolist()]
    n = len(exact)
    mean = sum(exact) / n
    second, third = (sum((v - mean) ** power for v in exact) / n for power in (2, 3))
    root = None
    if second:
        square = float(third**2 / second**3)
        root = np.sqrt(square) if third > 0 else -np.sqrt(square)
    return {
        "count": n,
        "sum": float(sum(exact)),
        "mean": float(mean),
        "variance": float(second),
        "skewness": root,
        "min": float(values.min()),
        "max": float(values.max()),
    }


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", SPREAD)
def test_every_answer_equals_exact_arithmetic_to_the_bit(name, seed):
    values = values_of(name, seed)
    assert summary_of(values) == naive_summary(values)


def test_it_agrees_with_numpy_and_scipy():
    for seed in range(200):
        values = values_of("uniform", seed)
        answer = summary_of(values)
        assert answer["mean"] == pytest.approx(values.mean(), rel=1e-12)
        assert answer["variance"] == pytest.approx(values.var(), rel=1e-12)
        assert answer["skewness"] == pytest.approx(scipy.stats.skew(values), rel=1e-9)


def test_the_sample_variance_is_in_the_details():
    moments = Moments()
    moments.add(Items.of(values=[1, 2, 4]))
    assert moments.variance().details["sample"] == pytest.approx(np.var([1, 2, 4], ddof=1))


def test_extreme_values_are_summed_without_overflow():
    largest = np.finfo(float).max
    answer = summary_of(np.array([largest, largest, -largest, -largest, 1.0]))
    assert answer["sum"] == 1
    assert answer["variance"] is None
    assert (answer["min"], answer["max"]) == (-largest, largest)
    assert summary_of(np.array([largest, largest]))["sum"] is None


def test_one_value_and_none():
    empty = Moments().summary().value
    assert empty == dict.fromkeys(empty) | {"count": 0, "sum": 0.0}
    assert summary_of(np.array([-2.5]))["variance"] == 0
    assert summary_of(np.array([-2.5]))["skewness"] is None


def test_nan_and_infinity_are_left_out():
    assert summary_of(np.array([1.0, np.nan, np.inf, -np.inf]))["count"] == 1


def test_sums_of_more_items_than_digits_have_room_for_are_not_answered():
    moments = Moments()
    moments.add(Items.of(values=[1.0, 2.0]))
    moments.arrays["count"][0] = 2**34
    assert moments.sum().value == 3.0
    other = Moments.from_bytes(moments.to_bytes())
    moments.merge(other)
    for name in ("sum", "mean", "variance", "skewness"):
        answer = moments.estimate({"type": name})
        assert (answer.value, answer.confidence, answer.details) == (
            None,
            None,
            {"saturated": True},
        )
    assert (moments.count().value, moments.min().value, moments.max().value) == (2**35, 1.0, 2.0)
    assert moments.summary().details == {"saturated": True}


def test_a_count_that_ran_over_is_called_saturated_and_the_state_is_still_readable():
    synopsis = Moments()
    synopsis.add(Items.of(values=[1.0, 2.0]))
    synopsis.arrays["count"][0] = 2**62
    for _ in range(3):
        synopsis.merge(Moments.from_bytes(synopsis.to_bytes()))
        again = Moments.from_bytes(synopsis.to_bytes())
        assert (again.sum().value, again.sum().details) == (None, {"saturated": True})
        assert again.min().value == 1.0
    synopsis.arrays["count"][0] = -5
    assert (synopsis.count().value, synopsis.count().details) == (None, {"saturated": True})
    assert synopsis.mean().value is None
    assert synopsis.max().value == 2.0
