"""FM, HyperLogLog and Theta: three ways to count distinct keys, one set of dangers."""

import dataclasses

import inputs
import numpy as np
import pytest

from synopses import FM, HyperLogLog, Items, ParameterError, Theta

SEEDS = 200
SKETCHES = [FM(bitmaps=64), HyperLogLog(lg_k=7), Theta(lg_k=6)]
STATED = {"fm": 0.78 / 8, "hyperloglog": 1.04 / np.sqrt(128), "theta": 1 / np.sqrt(63)}
each = pytest.mark.parametrize("template", SKETCHES, ids=lambda s: s.kind)


def bank_of(template, slots):
    return {n: np.zeros((slots, *shape), t) for n, (t, shape) in template.layout().items()}


def naive_fm(pairs, bitmaps):
    words = [0] * bitmaps
    for h1, h2 in pairs.tolist():
        lowest = (h2 & -h2).bit_length() - 1 if h2 else 63
        words[((h1 >> 32) * bitmaps) >> 32] |= 1 << lowest
    return words


def naive_hyperloglog(pairs, lg_k):
    registers = [0] * 2**lg_k
    for h1, h2 in pairs.tolist():
        slot = h1 % 2**lg_k
        registers[slot] = max(registers[slot], min(64 - h2.bit_length(), 62) + 1)
    return registers


def naive_theta(pairs, lg_k):
    """Theta and the smallest hashes of all that were ever seen."""
    hashes = sorted({h1 >> 1 for h1, _ in pairs.tolist()} - {0})
    k = 2**lg_k
    return (hashes[k] if len(hashes) > k else 0), hashes[:k]


def test_states_equal_the_naive_ones():
    items = Items.of(np.random.default_rng(5).integers(0, 700, 2000))
    fm, hll, theta = FM(bitmaps=50), HyperLogLog(lg_k=5), Theta(lg_k=5)
    for sketch in (fm, hll, theta):
        sketch.add(items)
    assert fm.arrays["words"][0].tolist() == naive_fm(items.keys, 50)
    assert hll.arrays["registers"][0].tolist() == naive_hyperloglog(items.keys, 5)
    limit, hashes = naive_theta(items.keys, 5)
    words = np.frombuffer(theta._payload(), np.uint64).tolist()
    assert words == [limit, len(hashes), *hashes, *[0] * (64 - len(hashes))]


@each
@pytest.mark.parametrize("n", [0, 1, 2, 10, 100, 1_000, 10_000])
def test_the_interval_holds_at_every_size(template, n):
    values, misses, m = [], 0, 4 * SEEDS if n <= 100 else SEEDS
    bank = bank_of(template, m)
    # Different numbers for each slot: a new draw of hashes.
    items = Items.of(np.arange(n * m))
    template.add_slots(bank, np.repeat(np.arange(m, dtype=np.int32), n), items)
    for slot in range(m):
        answer = template.at(bank, slot).cardinality()
        values.append(answer.value)
        misses += not answer.lower <= n <= answer.upper
    assert misses / m <= inputs.tolerated(1 - 0.99, m)
    if n >= 1_000:
        error = STATED[template.kind]
        assert abs(np.mean(values) / n - 1) <= (3 * error / np.sqrt(m))
        assert np.std(values) / n <= error * (1 + 3 / np.sqrt(2 * m)) * 1.05


SMALL = [
    *(HyperLogLog(lg_k=lg_k) for lg_k in (4, 5, 7, 8)),
    *(FM(bitmaps=bitmaps) for bitmaps in (16, 24, 60)),
    Theta(lg_k=5),
]


@pytest.mark.parametrize("template", SMALL, ids=repr)
@pytest.mark.parametrize("n", [2, 3, 4, 300])
def test_the_interval_of_small_sketches_holds_in_99_of_100_trials(template, n):
    """Few registers err further upwards than downwards; of a few keys two may share a register."""
    trials = 2000
    bank = bank_of(template, trials)
    keys = np.random.default_rng(n).integers(0, 2**64, (n * trials, 2), dtype=np.uint64)
    items = dataclasses.replace(Items.of(values=np.ones(len(keys))), keys=keys)
    template.add_slots(bank, np.repeat(np.arange(trials, dtype=np.int32), n), items)
    answers = [template.at(bank, slot).cardinality() for slot in range(trials)]
    misses = sum(not answer.lower <= n <= answer.upper for answer in answers)
    assert misses / trials <= 0.01


@each
@pytest.mark.parametrize("name", inputs.NAMES)
def test_repeats_and_order_do_not_show(template, name):
    misses = 0
    for seed in range(SEEDS):
        keys = inputs.keys(name, seed, 400, 300)
        sketch = type(template)(**template.params)
        sketch.add(Items.of(keys + 1_000 * seed))
        answer = sketch.cardinality()
        misses += not answer.lower <= len(np.unique(keys)) <= answer.upper
    assert misses / SEEDS <= inputs.tolerated(0.01, SEEDS)


@each
def test_union_is_what_merging_gives(template):
    sketches = [type(template)(**template.params) for _ in range(3)]
    for i, sketch in enumerate(sketches):
        sketch.add(Items.of(range(400 * i, 400 * i + 800)))
    united = sketches[0].union(*sketches[1:])
    assert united.lower <= 1600 <= united.upper
    for other in sketches[1:]:
        sketches[0].merge(other)
    assert sketches[0].cardinality().value == pytest.approx(united.value)


@pytest.mark.parametrize("cls", [FM, HyperLogLog, Theta])
def test_sizing_meets_the_error_asked_for(cls):
    for error in (0.2, 0.05, 0.01):
        sketch = cls.from_error(error)
        stated = getattr(sketch, "relative_error", None) or (2**sketch.lg_k - 1) ** -0.5
        assert stated <= error
    with pytest.raises(ParameterError, match="relative_error"):
        cls.from_error(0)
