import collections

import datasketches
import inputs
import naive_frequent_items as naive
import numpy as np
import pytest

from synopses import FrequentItems, Items, LossyCounting, ParameterError, QueryError, StickySampling

SEEDS = 40  # of each of the seven inputs: 280 of each kind
EPSILON = 0.05


def state_of(sketch):
    held = int(sketch.arrays["held"][0])
    columns = [sketch.arrays[name][0, :held].tolist() for name in ("upper", "error")]
    texts = [bytes(cell).rstrip(b"\0").decode() for cell in sketch.arrays["texts"][0, :held]]
    return list(zip(texts, *columns, strict=True))


def weighted(name, seed, n):
    keys = inputs.keys(name, seed, n)
    return keys, np.random.default_rng(seed).integers(1, 5, n)


def filled(cls, seed, name, n=400, **params):
    keys, weights = weighted(name, seed, n)
    sketch = cls(epsilon=EPSILON, **params)
    sketch.add(Items.of(keys, values=weights))
    exact = collections.Counter()
    for key, weight in zip(keys.tolist(), weights.tolist(), strict=True):
        exact[str(key)] += weight
    return sketch, exact


@pytest.mark.parametrize("name", inputs.NAMES)
def test_counters_equal_the_naive_ones_also_after_merging(name):
    sketches, twins = [], []
    for seed in (1, 2, 3):
        keys, weights = weighted(name, seed, 700)
        weights -= 1  # some weights are 0: left out
        sketches.append(FrequentItems(epsilon=0.1, decimals=0))
        sketches[-1].add(Items.of(keys, values=weights))
        twins.append(naive.NaiveCounters(sketches[-1].counters))
        twins[-1].add(map(str, keys.tolist()), weights.tolist())
        assert state_of(sketches[-1]) == twins[-1].state()
    for sketch, twin in zip(sketches[1:], twins[1:], strict=True):
        sketches[0].merge(sketch)
        twins[0].merge(twin)
        assert state_of(sketches[0]) == twins[0].state()
        assert int(sketches[0].arrays["floor"][0]) == twins[0].floor
        assert int(sketches[0].arrays["total"][0]) == twins[0].total


def assert_sound(sketch, exact):
    """The sentences of the three kinds, on one sketch."""
    total = sum(exact.values())
    for key, weight in [*exact.most_common(10), *exact.most_common()[-10:], ("absent", 0)]:
        answer = sketch.frequency(key)
        assert answer.lower <= weight <= answer.upper
        assert answer.upper - answer.lower <= EPSILON * total
        if not isinstance(sketch, FrequentItems):
            assert weight - EPSILON * total <= answer.value <= weight


@pytest.mark.parametrize("cls", [FrequentItems, LossyCounting, StickySampling])
@pytest.mark.parametrize("name", inputs.NAMES)
def test_every_weight_lies_within_its_bounds_which_are_epsilon_apart(cls, name):
    for seed in range(SEEDS):
        assert_sound(*filled(cls, seed, name))


@pytest.mark.parametrize("name", inputs.NAMES)
def test_the_bounds_hold_for_any_tree_of_merges(name):
    rng = np.random.default_rng(5)
    for seed in range(0, 8 * SEEDS, 8):
        parts = [filled(FrequentItems, seed + i, name, n=300) for i in range(8)]
        while len(parts) > 1:
            (one, exact), (two, more) = (parts.pop(int(rng.integers(len(parts)))) for _ in range(2))
            one.merge(two)
            parts.append((one, exact + more))
        assert_sound(*parts[0])


@pytest.mark.parametrize("name", inputs.NAMES)
def test_no_heavy_key_is_missing(name):
    for seed in range(SEEDS):
        sketch, exact = filled(FrequentItems, seed, name)
        total = sum(exact.values())
        for share in (EPSILON, 0.1, 0.3):
            found = {entry["key"] for entry in sketch.heavy_hitters(share).value}
            assert {key for key, weight in exact.items() if weight >= share * total} <= found


@pytest.mark.parametrize("name", inputs.NAMES)
def test_support_is_found_and_less_by_epsilon_is_not(name):
    for seed in range(SEEDS):
        lossy, exact = filled(LossyCounting, seed, name)
        sticky, _ = filled(StickySampling, seed, name, support=0.1)
        total = sum(exact.values())
        for answer in (lossy.frequent(0.1), sticky.frequent()):
            found = {entry["key"] for entry in answer.value}
            assert {key for key, weight in exact.items() if weight >= 0.1 * total} <= found
            assert all(exact[key] >= (0.1 - EPSILON) * total for key in found)


def test_bounds_are_no_wider_than_those_of_datasketches_with_as_many_counters():
    ours, theirs = [], []
    for seed in range(20):
        keys = inputs.keys("zipf 1.1", seed, 20_000, universe=5_000)
        sketch = FrequentItems(epsilon=2 / 191)  # 192 counters: DataSketches' 256 at load 0.75
        sketch.add(Items.of(keys))
        reference = datasketches.frequent_strings_sketch(8)
        for key in keys.tolist():
            reference.update(str(key))
        for key in range(20):
            answer = sketch.frequency(key)
            ours.append(answer.upper - answer.lower)
            bounds = reference.get_upper_bound(str(key)), reference.get_lower_bound(str(key))
            theirs.append(bounds[0] - bounds[1])
    assert np.mean(ours) <= np.mean(theirs)


def test_long_keys_are_cut_when_shown_but_stay_apart():
    long = "ü" * 30
    sketch = FrequentItems(max_key_bytes=9)
    sketch.add(Items.of([long + "1", long + "2", long + "1"]))
    shown = [(entry["key"], entry["estimate"]) for entry in sketch.heavy_hitters(0.1).value]
    assert shown == [("üüüü…", 2.0), ("üüüü…", 1.0)]
    assert sketch.frequency(long + "1").value == 2.0
    assert type(sketch).from_bytes(sketch.to_bytes()).frequency(long + "2").value == 1.0


def test_weights_of_zero_or_less_are_left_out():
    sketch = FrequentItems()
    sketch.add(Items.of(["a", "b", "c"], values=[1, 0, -5]))
    assert sketch.total().value == 1
    assert sketch.frequency("c").upper == 0


def test_totals_beyond_the_limit_stop_there_and_still_load():
    sketch = FrequentItems(decimals=9)
    sketch.add(Items.of(["a"] * 2_000, values=np.full(2_000, 1e15)))
    assert sketch.arrays["total"][0] == 2**62
    assert FrequentItems.from_bytes(sketch.to_bytes()).to_bytes() == sketch.to_bytes()


def test_shares_below_epsilon_are_refused():
    with pytest.raises(QueryError, match="epsilon"):
        FrequentItems(epsilon=0.1).heavy_hitters(0.05)
    with pytest.raises(ParameterError, match="support"):
        StickySampling(support=0.01, epsilon=0.1)
