"""Sketches go to Apache DataSketches and come back, byte for byte where bytes are defined."""

import datasketches
import inputs
import numpy as np
import pytest

from synopses import HyperLogLog, Items, StateError, Theta

TYPES = [getattr(datasketches.tgt_hll_type, name) for name in ("HLL_4", "HLL_6", "HLL_8")]
SIZES = [0, 1, 5, 20, 100, 1_000, 20_000]  # empty, list, set and array mode


def texts(n):
    return [f"key {i}" for i in range(n)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_their_hll_has_our_registers(kind, n):
    theirs, ours = datasketches.hll_sketch(10, kind), HyperLogLog(lg_k=10)
    for text in texts(n):
        theirs.update(text)
    if n:
        ours.add(Items.of(texts(n)))
    for data in (theirs.serialize_compact(), theirs.serialize_updatable()):
        assert HyperLogLog.from_datasketches(data).to_bytes() == ours.to_bytes()


@pytest.mark.parametrize("n", SIZES)
def test_our_hll_is_read_there_and_estimates_alike(n):
    ours = HyperLogLog(lg_k=10)
    if n:
        ours.add(Items.of(texts(n)))
    theirs = datasketches.hll_sketch.deserialize(ours.to_datasketches())
    assert theirs.lg_config_k == 10
    assert theirs.get_estimate() == pytest.approx(ours.cardinality().value, rel=0.03)
    assert HyperLogLog.from_datasketches(theirs.serialize_compact()).to_bytes() == ours.to_bytes()


def test_our_hll_unites_with_theirs_there():
    ours, theirs = HyperLogLog(lg_k=12), datasketches.hll_sketch(12)
    ours.add(Items.of(texts(3_000)))
    for i in range(2_000, 5_000):
        theirs.update(f"key {i}")
    union = datasketches.hll_union(12)
    union.update(datasketches.hll_sketch.deserialize(ours.to_datasketches()))
    union.update(theirs)
    assert union.get_estimate() == pytest.approx(5_000, rel=0.05)


@pytest.mark.parametrize("n", SIZES)
def test_our_theta_bytes_are_theirs(n):
    theirs, ours = datasketches.update_theta_sketch(10), Theta(lg_k=10)
    for text in texts(n):
        theirs.update(text)
    if n:
        ours.add(Items.of(texts(n)))
    theirs.trim()  # to the k smallest, which is all we ever show
    back = datasketches.compact_theta_sketch.deserialize(ours.to_datasketches())
    assert back.serialize() == theirs.compact().serialize()
    assert Theta.from_datasketches(theirs.compact().serialize(), 10).to_bytes() == ours.to_bytes()


def test_a_larger_theta_sketch_is_cut_to_our_size():
    theirs, ours = datasketches.update_theta_sketch(12), Theta(lg_k=8)
    for text in texts(20_000):
        theirs.update(text)
    ours.add(Items.of(texts(20_000)))
    assert Theta.from_datasketches(theirs.compact().serialize(), 8).to_bytes() == ours.to_bytes()


def test_theta_sets_match_exact_ones():
    misses = jaccard_misses = 0
    for seed in range(200):
        base = 10_000 * seed
        a, b = set(range(base, base + 900)), set(range(base + 600, base + 1_400))
        one, two = Theta(lg_k=7), Theta(lg_k=7)
        one.add(Items.of(sorted(a)))
        two.add(Items.of(sorted(b)))
        for answer, exact in (
            (one.intersection(two), len(a & b)),
            (one.difference(two), len(a - b)),
            (one.union(two), len(a | b)),
        ):
            misses += not answer.lower <= exact <= answer.upper
        jaccard = one.jaccard(two)
        jaccard_misses += not jaccard.lower <= len(a & b) / len(a | b) <= jaccard.upper
    assert misses / 600 <= inputs.tolerated(0.01, 600)
    assert jaccard_misses / 200 <= inputs.tolerated(0.05, 200)


@pytest.mark.parametrize("cls", [HyperLogLog, Theta])
def test_damaged_foreign_bytes_are_refused_or_harmless(cls):
    rng = np.random.default_rng(1)
    sketch = cls.example()
    sketch.add(Items.of(texts(500)))
    data = sketch.to_datasketches()
    for bad in (b"", b"x" * 100, data[:7], data[: len(data) // 2]):
        with pytest.raises(StateError, match="DataSketches"):
            cls.from_datasketches(bad)
    for _ in range(300):
        flipped = bytearray(data)
        flipped[rng.integers(8, len(data))] ^= 1 << rng.integers(8)
        try:
            cls.from_datasketches(bytes(flipped)).cardinality()
        except StateError:
            continue
