import numpy as np
import pytest

from bench.correlation.alone import filled, make_dft
from bench.correlation.market import TICKS, TICKS_A_WINDOW, Market
from bench.correlation.report import Found, goals, write
from bench.rates import Spread
from clients.tuples import decode


@pytest.fixture(scope="module")
def market():
    return Market(40)


def test_some_pairs_of_a_group_are_above_the_threshold_and_some_below(market):
    pairs = market.pairs(0.9)
    within = {(a, b) for a, b in pairs if int(a[1:]) // 4 == int(b[1:]) // 4}
    assert 0 < len(within) < 60  # of 10 groups with 6 pairs


def test_the_exact_pairs_are_those_of_the_window_that_is_over(market):
    assert market.window.shape == (40, TICKS_A_WINDOW)
    np.testing.assert_array_equal(market.window[:, -1], market.prices[-2])


def test_every_tick_is_sent_once_in_order(market):
    tuples = [t for parcel in market.parcels(2) for t in decode(parcel.payload)]
    assert len(tuples) == market.tuples == 40 * TICKS
    times = [t["time"] for t in tuples if t["stream"] == "S00003"]
    assert times == sorted(set(times))


def test_the_kind_alone_finds_every_pair_of_the_market(market):
    answer = make_dft().pairs(filled(market), threshold=0.9)
    assert market.pairs(0.9) <= {tuple(sorted(pair[:2])) for pair in answer.value}


def test_goals_are_about_5000_stocks(tmp_path):
    one = Spread(1.0, 0.9, 1.2)
    found = [Found(n, 1e6, one, one, one, Spread(3, 2, 4), 10, 1.0, 0.95) for n in (50, 5000)]
    assert [goal.met for goal in goals(found)] == [False, True, True]
    assert all(goal.figure is None for goal in goals(found[:1]))
    write(found, {"machine": "m"}, tmp_path)
    assert "| 5000 |" in (tmp_path / "correlation.md").read_text()


def test_blocks_find_the_pairs_that_a_matrix_of_all_has(market, monkeypatch):
    monkeypatch.setattr("bench.correlation.market._BLOCK", 7)
    first, second = np.nonzero(np.abs(np.corrcoef(market.window)) >= 0.9)
    places = zip(first.tolist(), second.tolist(), strict=True)
    assert market.pairs(0.9) == {(market.names[a], market.names[b]) for a, b in places if a < b}
