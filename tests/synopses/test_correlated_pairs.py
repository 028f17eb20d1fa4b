"""The search against everybody compared with everybody."""

import numpy as np
import pytest

from synopses import correlated_pairs
from synopses.correlated_pairs import ROUNDING, Windows, search

SIZES = (0, 1, 2, 31, 32, 33, 64, 300)  # around the edges of tiles
ALL = 10**9


def windows(n, axes, seed, first=0):
    """Unit vectors in bundles, so that many are near each other or opposite, with tails."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(max(1, n // 5), axes)) / (1 + np.arange(axes))
    x = centres[rng.integers(0, len(centres), n)] * rng.choice([-1, 1], (n, 1))
    x += rng.uniform(0.01, 0.3, (n, 1)) * rng.normal(size=(n, axes))
    tail = rng.uniform(0, 0.4, n)
    heads = x / np.linalg.norm(x, axis=1, keepdims=True) * np.sqrt(1 - tail**2)[:, None]
    return Windows(np.arange(first, first + n), heads.reshape(n, axes), tail, None)


def naive(one, two, threshold, negative):
    """Pairs that can reach the threshold by the bounds of heads and tails."""
    inner, tails = one.heads @ two.heads.T, np.outer(one.tails, two.tails)
    reaches = (inner + tails + ROUNDING >= threshold) | (
        negative & (inner - tails - ROUNDING <= -threshold)
    )
    different = one.streams[:, None] != two.streams[None, :]
    places = np.argwhere(np.triu(reaches, 1) if one is two else reaches & different)
    return {(int(a), int(b)) for a, b in places}


@pytest.mark.parametrize("negative", [True, False])
@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.9, 0.97, 0.999, 1.0])
@pytest.mark.parametrize("axes", [4, 10, 16, 40])
def test_no_pair_is_missing_and_none_is_too_many(axes, threshold, negative):
    for seed, n in enumerate(SIZES):
        one = windows(n, axes, seed)
        found, counts = search(one, one, threshold, negative, ALL)
        expected = naive(one, one, threshold, negative)
        assert set(zip(found.a.tolist(), found.b.tolist(), strict=True)) == expected
        assert counts["found"] == len(found.a) == len(expected)
        assert counts["candidates"] >= counts["found"]


@pytest.mark.parametrize("negative", [True, False])
@pytest.mark.parametrize("threshold", [0.5, 0.9, 0.99])
def test_two_sets_of_windows_are_compared_each_with_each(threshold, negative):
    for seed, n in enumerate(SIZES):
        one, two = windows(n, 16, seed), windows(70, 16, seed, first=n // 2)
        found, _ = search(one, two, threshold, negative, ALL)
        pairs = set(zip(found.a.tolist(), found.b.tolist(), strict=True))
        assert pairs == naive(one, two, threshold, negative)


@pytest.mark.parametrize("limit", [3, 100, ALL])
def test_the_answer_is_the_same_whatever_is_searched_at_once(limit, monkeypatch):
    one, two = windows(200, 16, 1), windows(90, 16, 2, first=200)
    expected = [search(one, other, 0.6, True, limit) for other in (one, two)]
    assert expected[0][1]["found"] > 1000
    monkeypatch.setattr(correlated_pairs, "_PAIRS_AT_ONCE", 7)
    for other, (pairs, counts) in zip((one, two), expected, strict=True):
        found, again = search(one, other, 0.6, True, limit)
        assert again == counts
        for name in ("a", "b", "value", "lower", "upper"):
            np.testing.assert_array_equal(getattr(found, name), getattr(pairs, name))
