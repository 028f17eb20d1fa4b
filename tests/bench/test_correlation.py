from types import SimpleNamespace

import numpy as np
import pytest

from bench.correlation.__main__ import measure
from bench.correlation.alone import filled, make_dft
from bench.correlation.market import TICKS, TICKS_A_WINDOW, Market
from bench.correlation.questions import Accuracy, accuracy, ask_many, thresholds
from bench.correlation.report import Found, Round, goals, write
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


class Asked:
    """In the place of a client: answers at once, and keeps count of what is in flight."""

    def __init__(self, market):
        self._dft, self._streams = make_dft(), filled(market)
        self.in_flight, self.most, self.thresholds = 0, 0, []

    def submit_estimate(self, uid, question, *, threshold, limit):
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        self.thresholds.append(threshold)
        answer = self._dft.pairs(self._streams, threshold=threshold, limit=limit)
        return SimpleNamespace(result=lambda: self._answered(answer))

    def _answered(self, answer):
        self.in_flight -= 1
        return answer


def test_many_questions_are_asked_at_once_and_no_two_alike(market):
    sde = Asked(market)
    answers, seconds = ask_many(sde, "u", thresholds())
    assert len(answers) == 20
    assert seconds > 0
    assert (sde.most, sde.in_flight) == (20, 0)
    assert len(set(sde.thresholds)) == 20
    found = [len(answer.value) for answer in answers]
    assert found == sorted(found, reverse=True)


def test_an_answer_is_held_against_the_exact_pairs_of_its_own_threshold():
    exact = {("a", "b"): 0.95, ("a", "c"): -0.905, ("b", "c"): 0.9}
    rows = [["b", "a", 0.95, 0.94, 0.96], ["a", "d", 0.9, 0.89, 0.91]]
    answer = SimpleNamespace(value=rows)
    assert accuracy(answer, exact, 0.9) == Accuracy(1 / 3, 1 / 2)
    assert accuracy(answer, exact, 0.91) == Accuracy(1.0, 1 / 2)


def test_a_round_measures_the_engine_beside_numpy(market):
    (first, second) = measure(Asked(market), market, 2)
    assert first.pairs == second.pairs == len(market.pairs(0.9))
    assert min(first.asked, first.answers_a_second, first.computed, first.alone) > 0
    assert first.accuracy.recall == 1.0
    assert first.accuracy.precision > 0.8


def test_both_ratios_are_against_numpy_of_the_same_round():
    rounds = [Round(0.5, 20.0, 1.0, 0.1, 10, Accuracy(1.0, 0.95)) for _ in range(3)]
    found = Found.of(5000, 1e6, [*rounds, Round(0.5, 30.0, 2.0, 0.1, 10, Accuracy(0.9, 1.0))])
    assert (found.faster.median, found.faster.most) == (2.0, 4.0)
    assert (found.oftener.median, found.oftener.most) == (20.0, 60.0)
    assert found.computations_a_second.median == 1.0
    assert (found.recall, found.precision) == (0.9, 0.95)


def test_goals_are_about_5000_stocks(tmp_path):
    one = Round(0.5, 5.0, 1.0, 0.1, 10, Accuracy(1.0, 0.95))
    found = [Found.of(stocks, 1e6, [one]) for stocks in (50, 5000)]
    assert [goal.met for goal in goals(found)] == [False, True, True]
    assert "20 questions at once (time to the answer of one question: 2 times): 5 times" in (
        goals(found)[0].line
    )
    assert all(goal.figure is None for goal in goals(found[:1]))
    write(found, {"machine": "m"}, tmp_path)
    assert "| 5000 |" in (tmp_path / "correlation.md").read_text()
    assert (tmp_path / "correlation.png").stat().st_size > 0


def test_correlations_of_pairs_are_those_of_numpy(market):
    pairs = market.pairs(0.9)
    exact = np.corrcoef(market.window)
    for (a, b), value in market.correlations(pairs).items():
        assert value == pytest.approx(exact[market.names.index(a), market.names.index(b)])


def test_blocks_find_the_pairs_that_a_matrix_of_all_has(market, monkeypatch):
    monkeypatch.setattr("bench.correlation.market._BLOCK", 7)
    first, second = np.nonzero(np.abs(np.corrcoef(market.window)) >= 0.9)
    places = zip(first.tolist(), second.tolist(), strict=True)
    assert market.pairs(0.9) == {(market.names[a], market.names[b]) for a, b in places if a < b}
