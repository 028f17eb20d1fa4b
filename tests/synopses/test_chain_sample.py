import itertools

import naive_sample as naive
import numpy as np
import pytest
from scipy import stats

from synopses import ChainSample, Items, MergeError, ParameterError


def stream(rng, n):
    return Items.of(rng.integers(0, 9, n), values=rng.normal(size=n), times=np.arange(n))


@pytest.mark.parametrize(("k", "window"), [(1, 1), (1, 50), (5, 40), (20, 20), (7, 500)])
def test_the_sample_equals_the_naive_one_at_every_time(k, window):
    items = stream(np.random.default_rng(k), 1_500)
    sketch = ChainSample(k=k, window=window, seed=5)
    cuts = [0, 1, 3, 20, 49, 130, 600, 601, 1_500]
    for start, end in itertools.pairwise(cuts):
        sketch.add(items.take(np.arange(start, end)))
        seen = items.take(np.arange(end))
        assert sketch.sample().value == naive.chain_sample(seen, k, window, 5)
        assert sketch.sample().details["of"] == min(window, end)


def test_every_item_of_the_window_is_equally_likely():
    slots, n, window, k = 2_000, 300, 60, 12
    template = ChainSample(k=k, window=window)
    bank = {m: np.zeros((slots, *shape), t) for m, (t, shape) in template.layout().items()}
    keys = np.arange(slots * n) // n  # makes the slots differ
    items = Items.of(keys, values=np.tile(np.arange(n), slots))
    template.add_slots(bank, np.repeat(np.arange(slots, dtype=np.int32), n), items)
    chosen = np.zeros(n)
    for slot in range(slots):
        records = template.at(bank, slot).sample().value
        chosen[[int(record["value"]) for record in records]] += 1
    assert not chosen[: n - window].any()
    expected = slots * k / window
    statistic = ((chosen[n - window :] - expected) ** 2 / (expected * (1 - k / window))).sum()
    assert stats.chi2.sf(statistic, window) > 1e-3


def test_what_is_kept_never_outgrows_its_room():
    """The room is for what is kept on average, twice; the rest is the chance of an overflow."""
    sketch = ChainSample(k=20, window=5_000)
    most = 0
    items = stream(np.random.default_rng(1), 60_000)
    for part in np.array_split(np.arange(60_000), 3_000):
        before = int(sketch.arrays["held"][0])
        sketch.add(items.take(part))
        if int(sketch.arrays["held"][0]) < before:
            most = max(most, int(sketch.arrays["held"][0]))
    assert 0 < most < 0.75 * sketch.capacity


def test_it_is_not_mergeable_and_says_so():
    with pytest.raises(MergeError, match="not mergeable"):
        ChainSample().merge(ChainSample())


def test_a_sample_larger_than_its_window_is_refused():
    with pytest.raises(ParameterError, match="k=11"):
        ChainSample(k=11, window=10)


def test_the_largest_one_stays_below_256_megabytes():
    assert ChainSample(k=10_000, window=10**8, max_key_bytes=1000).memory < 256e6
