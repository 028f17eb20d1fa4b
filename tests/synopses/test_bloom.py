import inputs
import numpy as np
import pytest

from synopses import Bloom, Items, ParameterError

SEEDS = 200


def naive_bits(pairs, bits, hashes):
    word, found = 2**64 - 1, set()
    for h1, h2 in pairs.tolist():
        for number in range(hashes):
            h = (h1 + number * (h2 | 1)) & word
            h ^= h >> 33
            h = (h * 0xFF51AFD7ED558CCD) & word
            found.add(((h >> 32) * bits) >> 32)
    return found


def test_the_bits_equal_the_naive_ones():
    items = Bloom.example_items(np.random.default_rng(1), 300)
    bloom = Bloom(capacity=200, fpp=0.05)
    bloom.add(items)
    words = bloom.arrays["words"][0]
    bits = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    assert set(bits.tolist()) == naive_bits(items.keys, bloom.bits, bloom.hashes)


@pytest.mark.parametrize("name", inputs.NAMES)
def test_added_keys_are_found_and_the_number_lies_in_its_interval(name):
    misses = 0
    for seed in range(SEEDS):
        keys = inputs.keys(name, seed, 300, 400)
        bloom = Bloom(capacity=300, fpp=0.02)
        bloom.add(Items.of([f"{seed}/{key}" for key in keys.tolist()]))
        assert bloom.contains(f"{seed}/{keys[0]}").value is True
        assert bloom.contains(f"{seed}/{keys[-1]}").value is True
        answer = bloom.cardinality()
        misses += not answer.lower <= len(np.unique(keys)) <= answer.upper
    assert misses / SEEDS <= inputs.tolerated(0.01, SEEDS)


def test_strangers_are_found_at_the_stated_rate():
    found = asked = 0
    stated = []
    for seed in range(SEEDS):
        bloom = Bloom(capacity=200, fpp=0.05)
        bloom.add(Items.of([f"{seed}/{i}" for i in range(200)]))
        answers = [bloom.contains(f"{seed}/stranger {i}") for i in range(50)]
        found += sum(answer.value for answer in answers)
        asked += len(answers)
        stated.append(answers[0].details["false_positive_rate"])
    assert found / asked <= inputs.tolerated(0.05, asked)
    assert np.mean(stated) == pytest.approx(found / asked, rel=0.15)


def test_union_counts_shared_keys_once():
    one, two = Bloom(), Bloom()
    one.add(Items.of(range(1000)))
    two.add(Items.of(range(500, 1500)))
    answer = one.union(two)
    assert answer.lower <= 1500 <= answer.upper
    one.merge(two)
    assert one.cardinality() == answer


def test_a_full_filter_says_so():
    bloom = Bloom(capacity=1, fpp=0.5)
    bloom.add(Items.of(range(10_000)))
    answer = bloom.cardinality()
    assert answer.details["full"]
    assert answer.upper is None
    assert bloom.contains("never").details["false_positive_rate"] == 1


@pytest.mark.parametrize(("name", "value"), [("capacity", 0), ("fpp", 0), ("fpp", 1)])
def test_a_bad_parameter_is_named(name, value):
    with pytest.raises(ParameterError, match=name):
        Bloom(**{name: value})
