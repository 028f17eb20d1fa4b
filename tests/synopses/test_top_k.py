import collections

import inputs
import numpy as np
import pytest

from synopses import Items, ParameterError, QueryError, TopK
from synopses.hashing import hash_key
from synopses.laws import check

SEEDS = 40  # of each of the seven inputs: 280 of the kind


class TopValues(TopK):
    """The exact half of the kind, which keeps stricter laws."""

    kind = "top_values"
    order_free = True
    idempotent = True

    @classmethod
    def example(cls):
        return cls(by="value", smallest=True)


def naive_best(keys, values, k, sign):
    best = {}
    for key, value in zip(keys, values, strict=True):
        best[key] = max(best.get(key, -np.inf), sign * value)
    order = sorted(best, key=lambda key: (-best[key], *hash_key(key)[0].tolist()))
    return [{"key": str(key), "value": sign * best[key]} for key in order[:k]]


def test_by_value_it_is_order_free_and_idempotent():
    check(TopValues)


@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize("name", inputs.NAMES)
def test_by_value_it_is_exact_for_any_split(name, smallest):
    for seed in range(SEEDS):
        keys = inputs.keys(name, seed, 300, universe=200)
        values = np.random.default_rng(seed).integers(-50, 50, 300).astype(float)
        merged = TopK(k=7, by="value", smallest=smallest)
        for part in np.array_split(np.arange(300), 3):
            other = TopK(k=7, by="value", smallest=smallest)
            other.add(Items.of(keys[part], values=values[part]))
            merged.merge(other)
        expected = naive_best(keys.tolist(), values.tolist(), 7, -1 if smallest else 1)
        assert merged.top().value == expected


@pytest.mark.parametrize("name", inputs.NAMES)
def test_by_total_no_key_left_out_is_above_what_the_answer_says(name):
    for seed in range(SEEDS):
        keys = inputs.keys(name, seed, 400)
        weights = np.random.default_rng(seed).integers(1, 9, 400)
        top = TopK(k=5, epsilon=0.05)
        top.add(Items.of(keys, values=weights))
        exact = collections.Counter()
        for key, weight in zip(keys.tolist(), weights.tolist(), strict=True):
            exact[str(key)] += weight
        answer = top.top()
        listed = {found["key"] for found in answer.value}
        left_out = max((w for key, w in exact.items() if key not in listed), default=0)
        assert left_out <= answer.details["left_out"]
        for found in answer.value:
            assert found["lower"] <= exact[found["key"]] <= found["upper"]
            assert found["upper"] - found["lower"] <= 0.05 * sum(exact.values())


def test_by_total_clear_winners_come_in_their_order():
    keys = np.repeat(["a", "b", "c"], [600, 400, 200]).tolist() + list(range(300))
    order = np.random.default_rng(1).permutation(len(keys))
    top = TopK(k=3)
    top.add(Items.of([keys[i] for i in order]))
    assert [found["key"] for found in top.top().value] == ["a", "b", "c"]
    assert [found["key"] for found in top.top(1).value] == ["a"]


def test_parameters_that_contradict_are_refused():
    with pytest.raises(ParameterError, match="smallest"):
        TopK(smallest=True)
    with pytest.raises(ParameterError, match="k=500"):
        TopK(k=500, epsilon=0.01)
    with pytest.raises(QueryError, match=r"query\.n"):
        TopK(k=5).top(6)
