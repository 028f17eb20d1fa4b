"""No argument of a question sets the cost of its answer without a limit."""

import numpy as np
import pytest
import walks

from synopses import (
    DFT,
    KINDS,
    LSH,
    Coreset,
    CountMin,
    Estimate,
    Items,
    Quantiles,
    QueryError,
    hamming,
    question,
)
from synopses.laws import LawError, every_argument_has_a_limit


class Greedy(CountMin):
    """Repeats a number as often as it is asked to."""

    kind = "greedy"

    @question
    def repeat(self, times: int) -> Estimate:
        """The total, again and again."""
        return Estimate([self.total().value] * times)

    @question
    def lengths(self, keys: list[str]) -> Estimate:
        """The length of each key."""
        return Estimate([len(key) for key in keys])


def quantiles(n=3000):
    sketch = Quantiles(k=200)
    sketch.add(Items.of(values=np.arange(n)))
    return sketch


def streams_of(kind):
    template = kind.example()
    return template, walks.bank_of(template, walks.values("factors", 1, 12, 60))


def test_the_law_names_the_argument_without_a_limit():
    with pytest.raises(LawError, match=r'repeat: state the largest times.*most=\{"times"'):
        every_argument_has_a_limit(Greedy)


def test_lists_and_texts_have_a_limit_without_being_told():
    Greedy.check_query({"type": "lengths", "keys": ["a"] * 10_000})
    with pytest.raises(QueryError, match=r"query\.keys=.*a list of at most 10,000 entries"):
        Greedy.check_query({"type": "lengths", "keys": ["a"] * 10_001})
    with pytest.raises(QueryError, match=r"query\.stream=.*a text of at most 10,000 characters"):
        LSH.check_query({"type": "similar", "stream": "s" * 10_001})


@pytest.mark.parametrize("cls", KINDS.values(), ids=KINDS.keys())
def test_every_whole_number_beyond_its_limit_is_refused(cls):
    for name, asked in cls.questions.items():
        for argument in (a for a in asked.arguments if a.type is int):
            query = {**cls.example_query(name), argument.name: argument.most + 1}
            with pytest.raises(QueryError, match=rf"query\.{argument.name}=.*at most"):
                cls.check_query(query, 1 if asked.others else 0)


def test_a_cdf_has_at_most_ten_thousand_points():
    sketch = quantiles()
    assert len(sketch.cdf([1] * 10_000).value) == 10_000
    with pytest.raises(QueryError, match="at most 10,000 entries"):
        sketch.estimate({"type": "cdf", "points": [1] * 10_001})


@pytest.mark.parametrize("query", [{"type": "cdf", "points": "1,2,3"}, {"type": "histogram"}])
def test_many_points_are_looked_up_in_one_sorted_list(query, monkeypatch):
    sketch, sorts = quantiles(), []
    in_order = sketch._sorted
    monkeypatch.setattr(sketch, "_sorted", lambda: sorts.append(1) or in_order())
    sketch.estimate(query)
    assert len(sorts) == 1


def test_points_outside_the_values_have_the_ranks_0_and_1():
    assert quantiles().cdf([-1, 2999, 3000]).value == [0.0, 1.0, 1.0]
    assert Quantiles().cdf([1, 2]).value == [0.0, 0.0]


@pytest.mark.parametrize("kind", [DFT, LSH])
def test_a_limit_of_pairs_has_a_limit(kind):
    template, streams = streams_of(kind)
    with pytest.raises(QueryError, match=r"query\.limit=200001: expected from 1 to 200000"):
        template.pairs(streams, limit=200_001)


@pytest.mark.parametrize("kind", [DFT, LSH])
def test_a_threshold_that_nearly_all_pairs_reach_is_refused(kind, monkeypatch):
    template, streams = streams_of(kind)
    monkeypatch.setattr("synopses.correlated_pairs.MOST_CANDIDATES", 5)
    with pytest.raises(QueryError, match=r"query\.threshold=0\.01: expected a higher one: more"):
        template.pairs(streams, threshold=0.01)


@pytest.mark.parametrize("kind", [DFT, LSH])
def test_an_answer_with_fewer_pairs_than_found_says_so(kind):
    template, streams = streams_of(kind)
    everything = template.pairs(streams, threshold=0.3)
    assert len(everything.value) > 2
    assert "complete" not in everything.details
    some = template.pairs(streams, threshold=0.3, limit=2)
    assert (some.details["complete"], some.details["found"]) == (False, len(everything.value))


def test_centres_are_limited_by_the_work_they_make(monkeypatch):
    coreset = Coreset(dimensions=2, size=30)
    coreset.add(Coreset.example_items(np.random.default_rng(1), 100))
    monkeypatch.setattr("synopses.kinds.coreset._MOST_WORK", 1000)
    numbers = 2 * len(coreset.points().value)
    assert coreset.centres(1000 // numbers).value
    for ask in (coreset.centres, coreset.cost):
        with pytest.raises(QueryError, match=rf"at most {1000 // numbers} with {numbers} numbers"):
            ask(1000 // numbers + 1)


def test_bounds_of_the_largest_bitmaps_are_those_of_the_binomial_distribution():
    """Clopper-Pearson by its definition, at one distance of 4096 bits."""
    bits, distance = 4096, 700
    _, lower, upper = np.arccos(hamming.correlation_of(bits)[distance]) / np.pi
    k = np.arange(bits + 1)
    ways = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, bits + 1)))])
    for chance, tail in ((upper, k >= distance), (lower, k <= distance)):
        terms = ways[-1] - ways - ways[::-1] + k * np.log(chance) + (bits - k) * np.log1p(-chance)
        assert np.exp(terms[tail]).sum() == pytest.approx(0.025, rel=1e-6)
