import numpy as np
import pytest

from service.kafka.pace import Pace

MB = 1 << 20


def run(pace, rate, fixed, batches):
    """A stream with more than enough waiting: a batch takes the fixed time and size / rate."""
    for _ in range(batches):
        pace.record(pace.budget, fixed + pace.budget / rate)
    return pace.budget


def test_the_budget_settles_where_a_batch_takes_the_target_time():
    budget = run(Pace(1.0, MB, 1000 * MB), rate=100 * MB, fixed=0.3, batches=30)
    assert budget == pytest.approx(70 * MB, rel=0.02)


def test_the_budget_follows_a_stream_that_becomes_slow():
    pace = Pace(1.0, 1000, 1000 * MB)
    run(pace, rate=100 * MB, fixed=0.0, batches=30)
    assert run(pace, rate=50_000, fixed=0.0, batches=60) == pytest.approx(50_000, rel=0.05)


def test_a_slow_machine_does_not_make_batches_of_next_to_nothing():
    """Each batch takes longer than the target, however small: cutting them would help nobody."""
    pace = Pace(1.0, 32 * MB, 10_000 * MB)
    assert run(pace, rate=100 * MB, fixed=2.0, batches=30) == pytest.approx(200 * MB, rel=0.15)


def test_full_speed_is_reached_within_a_few_batches():
    assert run(Pace(1.0, 32 * MB, 1000 * MB), rate=200 * MB, fixed=0.5, batches=4) > 80 * MB


def test_noise_does_not_bring_the_budget_down_to_the_smallest():
    rng = np.random.default_rng(5)
    pace = Pace(1.0, 8 * MB, 1000 * MB)
    budgets = []
    for _ in range(200):
        pace.record(pace.budget, rng.uniform(0.4, 1.6) + pace.budget / (100 * MB))
        budgets.append(pace.budget)
    assert np.median(budgets) > 50 * MB
    assert max(budgets) < 1000 * MB


def test_a_batch_of_little_data_does_not_raise_the_budget():
    pace = Pace(1.0, 32 * MB, 1000 * MB)
    for size in (10, 500, 20, 3):
        pace.record(size, 0.1)
    assert pace.budget == 32 * MB


def test_the_budget_stays_between_its_limits():
    assert run(Pace(1.0, MB, 2 * MB), rate=10**12, fixed=0.0, batches=9) == 2 * MB
    assert run(Pace(1.0, MB, 2 * MB), rate=1, fixed=0.0, batches=9) == MB
