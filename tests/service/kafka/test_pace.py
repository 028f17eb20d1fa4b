from service.kafka.pace import Pace


def run(pace, rate, overhead, batches):
    """A stream with more than enough waiting: a batch takes the overhead and n / rate."""
    for _ in range(batches):
        pace.record(pace.budget, overhead + pace.budget / rate)
    return pace.budget


def test_the_budget_settles_where_a_batch_takes_the_target_time():
    pace = Pace(1.0, first=1000, smallest=100, largest=10**7)
    assert abs(run(pace, rate=1_000_000, overhead=0.3, batches=30) / 700_000 - 1) < 0.01


def test_the_budget_follows_a_stream_that_becomes_slow():
    pace = Pace(1.0, first=1_000_000, smallest=10, largest=10**7)
    assert abs(run(pace, rate=500, overhead=0.0, batches=30) / 500 - 1) < 0.01


def test_one_slow_batch_does_not_bring_the_budget_down_to_nothing():
    pace = Pace(1.0, first=10_000, smallest=1, largest=10**7)
    pace.record(10_000, 20.0)
    assert pace.budget == 2_500


def test_a_quick_batch_of_little_data_says_nothing():
    pace = Pace(1.0, first=10_000, smallest=1, largest=10**7)
    pace.record(10, 0.1)
    assert pace.budget == 10_000


def test_the_budget_stays_between_its_limits():
    assert run(Pace(1.0, 1000, 500, 2000), rate=10**9, overhead=0.0, batches=5) == 2000
    assert run(Pace(1.0, 1000, 500, 2000), rate=1, overhead=0.0, batches=5) == 500


def test_a_slow_machine_does_not_make_batches_of_next_to_nothing():
    """Each batch takes longer than the target, however small: cutting them would help nobody."""
    pace = Pace(1.0, first=10_000, smallest=100, largest=10**7)
    budget = run(pace, rate=1_000_000, overhead=2.0, batches=40)
    assert 1_000_000 < budget < 3_000_000


def test_small_batches_teach_the_overhead():
    pace = Pace(1.0, first=10_000, smallest=100, largest=10**7)
    for n in (10, 500, 20, 3):
        pace.record(n, 1.5 + n / 1e5)
    assert pace.budget == 10_000
