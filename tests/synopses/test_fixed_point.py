"""Weights finer than a unit, and sums beyond 64 bits."""

import numpy as np
import pytest

from synopses import (
    AMS,
    ConservativeCountMin,
    CountMin,
    FrequentItems,
    Items,
    LossyCounting,
    StateError,
    StickySampling,
    TopK,
)
from synopses.state import pack, unpack

FREQUENCY = {"type": "frequency", "key": "a"}
KINDS = [CountMin, ConservativeCountMin, FrequentItems, LossyCounting, StickySampling, AMS]
TABLES = [CountMin, ConservativeCountMin, AMS]
COUNTERS = [FrequentItems, LossyCounting, StickySampling]
SIGNED = [CountMin, AMS]


def filled(cls, weights, key="a", **params):
    synopsis = cls(**params)
    synopsis.add(Items.of([key] * len(weights), values=np.array(weights, float)))
    return synopsis


def holds(answer, truth):
    return answer.lower <= truth <= answer.upper


@pytest.mark.parametrize("cls", KINDS)
@pytest.mark.parametrize("weight", [0.0004, 0.0015, 0.12345, 1e-12, 3.14159])
def test_bounds_hold_the_weight_that_rounding_lost(cls, weight):
    answer = filled(cls, [weight] * 1000).estimate(FREQUENCY)
    assert holds(answer, 1000 * weight)
    assert answer.details["rounding"] >= 1000 * abs(weight - round(weight, 3))


@pytest.mark.parametrize("cls", SIGNED)
def test_bounds_hold_negative_weights_that_vanish(cls):
    assert holds(filled(cls, [-0.0004] * 1000).estimate(FREQUENCY), -0.4)


@pytest.mark.parametrize("cls", [ConservativeCountMin, *COUNTERS])
def test_what_is_left_out_is_not_lost_by_rounding(cls):
    answer = filled(cls, [-0.0004, 0.0, 2.0]).estimate(FREQUENCY)
    assert (answer.value, answer.upper, answer.details) == (2.0, 2.0, {})


@pytest.mark.parametrize("cls", [CountMin, ConservativeCountMin, FrequentItems])
def test_a_total_has_the_bounds_that_rounding_leaves(cls):
    answer = filled(cls, [0.0004, 1.0002]).estimate({"type": "total"})
    assert answer.lower <= 1.0006 <= answer.upper < answer.lower + 0.0014


def test_products_hold_what_rounding_lost():
    for cls, query in ((CountMin, "inner_product"), (AMS, "join_size")):
        one, two = filled(cls, [0.0004] * 1000), filled(cls, [2.0004] * 1000)
        assert holds(one.estimate({"type": query}, two), 0.4 * 2000.4)
    assert holds(filled(AMS, [0.0004] * 1000).f2(), 0.16)


@pytest.mark.parametrize("cls", KINDS)
def test_decimals_that_are_counted_lose_nothing(cls):
    weights = np.random.default_rng(1).integers(1, 10**9, 1000) / 1000
    answer = filled(cls, weights).estimate(FREQUENCY)
    assert answer.details == {}
    assert answer.value == pytest.approx(weights.sum(), rel=1e-15)


@pytest.mark.parametrize("cls", TABLES)
@pytest.mark.parametrize("weights", [[9e12] * 1100, [1e300], [1e15] * 5])
def test_sums_beyond_64_bits_have_no_answer_and_the_details_say_so(cls, weights):
    for name in ("frequency", "total", "f2"):
        if name in cls.questions:
            query = {"type": name, **({"key": "a"} if name == "frequency" else {})}
            answer = filled(cls, weights).estimate(query)
            assert (answer.value, answer.lower, answer.upper) == (None, None, None)
            assert answer.details == {"saturated": True}


@pytest.mark.parametrize("cls", SIGNED)
def test_weights_that_cancel_out_may_still_have_been_too_large(cls):
    assert filled(cls, [4e15, -4e15, 1.0]).estimate(FREQUENCY).value is None


def test_products_with_a_saturated_synopsis_have_no_answer():
    for cls, query in ((CountMin, "inner_product"), (AMS, "join_size")):
        one, two = filled(cls, [1.0]), filled(cls, [1e16])
        assert one.estimate({"type": query}, two).details == {"saturated": True}
        assert two.estimate({"type": query}, one).details == {"saturated": True}


@pytest.mark.parametrize("cls", COUNTERS)
def test_a_saturated_counter_has_a_lower_bound_only(cls):
    answer = filled(cls, [9e12] * 1100).estimate(FREQUENCY)
    assert 0 < answer.lower <= answer.value <= 1100 * 9e12
    assert (answer.upper, answer.details) == (None, {"saturated": True})


def test_keys_that_vanish_are_covered_by_left_out():
    for answer in (
        filled(FrequentItems, [0.0004] * 1000).heavy_hitters(0.5),
        filled(LossyCounting, [0.0004] * 1000).frequent(0.5),
        filled(StickySampling, [0.0004] * 1000).frequent(),
        filled(TopK, [0.0004] * 1000).top(),
    ):
        assert answer.value == []
        assert answer.details["left_out"] >= 0.4


def test_a_saturated_top_k_does_not_say_what_is_left_out_at_most():
    answer = filled(TopK, [9e12] * 1100).top()
    assert answer.details == {"left_out": None, "saturated": True}
    assert answer.value[0]["upper"] is None


def test_weights_are_counted_up_to_where_the_sums_end():
    assert filled(CountMin, [1e13, 1e13]).total().value == 2e13
    assert filled(CountMin, [1e15] * 4).frequency("a").value == 4e15


@pytest.mark.parametrize("cls", KINDS)
@pytest.mark.parametrize("weights", [[0.0004, 2.5] * 500, [3e12] * 1100, [5e12] * 1100])
def test_merged_parts_state_the_losses_of_the_whole(cls, weights):
    whole, merged = filled(cls, weights), cls()
    for part in np.array_split(weights, 7):
        merged.merge(filled(cls, part))
    assert merged.estimate(FREQUENCY).details == whole.estimate(FREQUENCY).details
    if cls.order_free:
        assert merged.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("cls", COUNTERS)
def test_counters_too_heavy_together_keep_the_heavier_and_are_saturated(cls):
    for order in (1, -1):
        parts = [filled(cls, [3e12] * 1000, key="a"), filled(cls, [4e12] * 1000, key="b")][::order]
        parts[0].merge(parts[1])
        merged = cls.from_bytes(parts[0].to_bytes())
        answer = merged.estimate({"type": "frequency", "key": "b"})
        assert (answer.lower, answer.upper) == (4e15, None)
        assert answer.details == {"saturated": True}


@pytest.mark.parametrize("cls", SIGNED)
def test_losses_subtract_like_the_sums(cls):
    weights = np.random.default_rng(2).normal(0, 1e7, 600)
    whole, part, rest = (filled(cls, w) for w in (weights, weights[:250], weights[250:]))
    for name, array in whole.arrays.items():
        array -= part.arrays[name]
    assert whole.to_bytes() == rest.to_bytes()


@pytest.mark.parametrize("cls", KINDS)
def test_states_with_losses_come_back(cls):
    for weights in ([0.0004] * 10, [9e12] * 1100):
        synopsis = filled(cls, weights)
        restored = cls.from_bytes(synopsis.to_bytes())
        assert restored.estimate(FREQUENCY) == synopsis.estimate(FREQUENCY)
        assert restored.to_bytes() == synopsis.to_bytes()


@pytest.mark.parametrize("cls", [*KINDS, TopK])
def test_states_without_losses_are_those_of_versions_that_did_not_state_them(cls):
    exact, lossy = filled(cls, [1.5, 2.0]), filled(cls, [1.5, 0.0001])
    assert len(lossy.to_bytes()) == len(exact.to_bytes()) + 24


@pytest.mark.parametrize("cls", [*KINDS, TopK])
def test_losses_that_no_weights_have_are_refused(cls):
    state = unpack(filled(cls, [0.0001]).to_bytes())
    for word in (-1, 2**62):
        payload = bytes(state.payload)[:-8] + word.to_bytes(8, "little", signed=True)
        with pytest.raises(StateError, match="losses"):
            cls.from_bytes(pack(state.kind, state.format, state.params, payload))
