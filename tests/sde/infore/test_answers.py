"""One data set, asked as programs of INFORE ask: every answer beside the exact one.

Requests are translated, carried out on synopses without an engine around them (in three parts
that are merged, or one for each stream), and the reply is translated back.
"""

from collections import Counter, defaultdict
from dataclasses import asdict

import numpy as np
import pytest

from sde.infore import answer_of, translate
from sde.messages import STREAM_SCOPE, Ask, Create
from synopses import KINDS, Items, Streams
from tests.sde.infore.old_programs import PLACE, PROGRAMS, request
from tests.synopses import naive_trajectory

PARTS = 3
STREAMS = [f"S{i}" for i in range(12)]
TICKS = 400
THRESHOLD = 0.9


def forex():
    """(stream, time, values): half of the streams follow each other, every text as text."""
    rng = np.random.default_rng(7)
    walk = rng.normal(size=TICKS).cumsum()
    rows = []
    prices = [
        100 + (walk + rng.normal(0, 0.4, TICKS) if i % 2 else rng.normal(size=TICKS).cumsum())
        for i in range(len(STREAMS))
    ]
    for tick in range(TICKS):
        for i, stream in enumerate(STREAMS):
            values = {
                "StockID": f"K{int(rng.zipf(1.4)) % 500}",
                "price": f"{prices[i][tick]:.2f}",
                "volume": str(int(rng.integers(1, 9))),
            }
            rows.append((stream, 1000 * tick, values))
    return rows


ROWS = forex()
KEYS = [values["StockID"] for _, _, values in ROWS]
PRICES = np.array([float(values["price"]) for _, _, values in ROWS])
VOLUMES = np.array([float(values["volume"]) for _, _, values in ROWS])


class Synopses:
    """Carries out creates and estimates the obvious way."""

    def __init__(self, rows=ROWS):
        self._rows = rows
        self._made = {}

    def running(self, uid):
        return self._made[uid][0] if uid in self._made else None

    def send(self, message):
        [record] = translate(message, PLACE, self.running)
        if isinstance(record, Create):
            definition = record.definition
            whole = self._streams if definition.scope == STREAM_SCOPE else self._merged
            self._made[record.uid] = (definition, whole(definition))
            return answer_of(message, {"op": "create", "status": "ok", "kind": definition.kind})
        assert isinstance(record, Ask)
        definition, first = self._made[record.uids[0]]
        others = [self._made[uid][1] for uid in record.uids[1:]]
        found = asdict(self._estimate(record, definition, first, others))
        about = {"kind": definition.kind, "stream": record.stream}
        return answer_of(message, {"op": "estimate", "status": "ok", **about, **found})

    def _estimate(self, record, definition, held, others):
        if not isinstance(held, Streams):
            return held.estimate(record.query, *others)
        template = KINDS[definition.kind](**definition.params)
        question, arguments = template.check_query(record.query)
        if question.across:
            return getattr(template, question.name)(held, **arguments)
        slot = held.names.index(record.stream)
        return template.at(held.arrays, slot).estimate(record.query)

    def _items(self, definition, rows):
        numbers = [[float(v[field]) for field in definition.values] for _, _, v in rows]
        columns = np.array(numbers) if definition.values else None
        if len(definition.values) == 1:
            columns = columns[:, 0]
        keys = [v[definition.key] for _, _, v in rows] if definition.key else None
        ids = [hash_of(row) for row in rows]
        return Items.of(keys, columns, [time for _, time, _ in rows], ids)

    def _merged(self, definition):
        merged = None
        for part in range(PARTS):
            synopsis = KINDS[definition.kind](**definition.params)
            synopsis.add(self._items(definition, self._rows[part::PARTS]))
            if merged is None:
                merged = synopsis
            else:
                merged.merge(synopsis)
        return merged

    def _streams(self, definition):
        template = KINDS[definition.kind](**definition.params)
        names = list(dict.fromkeys(stream for stream, _, _ in self._rows))
        layout = template.layout().items()
        bank = {name: np.zeros((len(names), *shape), t) for name, (t, shape) in layout}
        slots = np.array([names.index(stream) for stream, _, _ in self._rows], np.int32)
        template.add_slots(bank, slots, self._items(definition, self._rows))
        return Streams(names, bank)


def hash_of(row):
    return (STREAMS.index(row[0]) if row[0] in STREAMS else 0) * 10**9 + row[1]


def asking(number, rows=ROWS):
    """Make the synopsis of an id; a function that asks it."""
    synopses = Synopses(rows)
    told = synopses.send(request(1, number, param=PROGRAMS[number].add))
    assert told["estimation"].startswith("Maintaining synopsis")
    return lambda *param: synopses.send(request(3, number, param=list(param)))


def totals(weights):
    exact = defaultdict(float)
    for key, weight in zip(KEYS, weights, strict=True):
        exact[key] += weight
    return exact


@pytest.mark.parametrize("number", [1, 3, 8, 9])
def test_the_weight_of_every_key_lies_within_its_bounds(number):
    weights = PRICES if PROGRAMS[number].definition.values else np.ones(len(ROWS))
    ask = asking(number)
    for key, exact in totals(weights).items():
        told = ask(key)
        assert type(told["estimation"]) is float
        assert told["lower"] - 1e-6 <= exact <= told["upper"] + 1e-6


def test_bloom_finds_every_key_and_few_others():
    ask = asking(2)
    assert all(ask(key)["estimation"] is True for key in set(KEYS))
    others = [ask(f"other {i}")["estimation"] for i in range(500)]
    assert sum(others) <= 2 * 0.02 * len(others)


def exact_pairs():
    """Correlations over the last whole window of 60 ticks: panes are of 10, the last is open."""
    by_stream = {stream: PRICES[i :: len(STREAMS)] for i, stream in enumerate(STREAMS)}
    end = (TICKS - 1) // 10 * 10
    window = np.array([by_stream[stream][end - 60 : end] for stream in STREAMS])
    return np.corrcoef(window)


def test_dft_finds_every_pair_that_correlates_and_its_correlation_within_bounds():
    correlation = exact_pairs()
    found = asking(4)(str(THRESHOLD))["estimation"]
    told = {tuple(sorted(pair[:2])): pair[2:] for pair in found}
    for i, a in enumerate(STREAMS):
        for j, b in enumerate(STREAMS[:i]):
            exact = correlation[i, j]
            pair = told.get(tuple(sorted((a, b))))
            assert pair is not None or exact < THRESHOLD
            if pair is not None:
                assert pair[1] - 1e-9 <= exact <= pair[2] + 1e-9
    assert len(found) >= 10


def test_lsh_finds_the_pairs_that_correlate():
    correlation = exact_pairs()
    found = {tuple(sorted(pair[:2])) for pair in asking(5)("0.9")["estimation"]}
    due = {
        tuple(sorted((a, b)))
        for i, a in enumerate(STREAMS)
        for j, b in enumerate(STREAMS[:i])
        if correlation[i, j] >= THRESHOLD
    }
    assert len(due) >= 10
    assert len(found & due) >= 0.9 * len(due)


def test_a_coreset_tells_centres_with_weights_and_what_they_cost():
    told = asking(6)("StockID", "price, volume", "Queryable", "2", "50", "3")
    centres = np.array([found["point"] for found in told["estimation"]])
    points = np.column_stack([PRICES, VOLUMES])
    cost = ((points[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum()
    assert centres.shape == (3, 2)
    assert sum(found["weight"] for found in told["estimation"]) == len(ROWS)
    assert told["details"]["cost_lower"] <= cost <= told["details"]["cost_upper"]


def test_hyperloglog_counts_the_distinct_values_of_the_value_field():
    told = asking(7)()
    assert told["lower"] <= len({values["price"] for _, _, values in ROWS}) <= told["upper"]


@pytest.mark.parametrize("number", [11, 16])
def test_quantiles_lie_within_their_bounds(number):
    ask = asking(number)
    for q in (0, 0.01, 0.25, 0.5, 0.75, 0.99, 1):
        told = ask(str(q))
        exact = np.quantile(PRICES, q, method="inverted_cdf")
        assert type(told["estimation"]) is float
        assert told["lower"] <= exact <= told["upper"]


def test_the_chain_sampler_tells_values_that_came():
    sample = asking(10)()["estimation"]
    assert len(sample) == 20
    assert not Counter(sample) - Counter(PRICES.tolist())
    share_below = np.mean(np.array(sample) <= np.median(PRICES))
    assert 0.1 < share_below < 0.9


@pytest.mark.parametrize("number", [14, 15])
def test_a_distributed_sample_tells_records_that_came(number):
    sample = asking(number)()["estimation"]
    came = Counter(zip(KEYS, PRICES.tolist(), strict=True))
    assert len(sample) == 100
    assert not Counter((record["key"], record["value"]) for record in sample) - came


def test_top_k_tells_the_heaviest_keys_in_order():
    exact = totals(VOLUMES)
    heaviest = sorted(exact, key=exact.get, reverse=True)[:3]
    told = asking(13)("3", "60")["estimation"]
    assert [item["key"] for item in told] == heaviest
    assert all(item["lower"] <= exact[item["key"]] <= item["upper"] for item in told)


def test_the_last_position_kept_of_a_ship_is_the_one_by_the_rule():
    rng = np.random.default_rng(3)
    times = (1_500_000 + np.cumsum(rng.integers(1, 40, 200))) * 1000
    walk = np.array([37.9, 23.6]) + rng.normal(0, 4e-4, (200, 2)).cumsum(axis=0)
    course, speed = rng.normal(180, 3, 200), rng.normal(12, 0.6, 200)
    positions = np.column_stack([walk, course, speed])
    names = ("lat", "lon", "course", "speed")
    rows = [
        ("228037600", int(time), dict(zip(names, map(repr, position.tolist()), strict=True)))
        for time, position in zip(times, positions, strict=True)
    ]
    kept = naive_trajectory.track(times.tolist(), positions.tolist(), 60, 100, 1, 5)
    told = asking(12, rows)("228037600")["estimation"]
    assert 1 < len(kept) < 200
    assert told == {
        "t": kept[-1][0] // 1000,
        "shipid": "228037600",
        **dict(zip(names, kept[-1][1:], strict=True)),
    }


@pytest.mark.parametrize(("number", "weights"), [(1, PRICES), (3, PRICES)])
def test_a_join_of_two_lies_within_its_bounds(number, weights):
    synopses = Synopses()
    for uid in (1, 2):
        synopses.send(request(1, number, uid=uid, param=PROGRAMS[number].add))
    told = synopses.send(request(6, number, param=["2", "1", "2"]))
    exact = sum(weight**2 for weight in totals(weights).values())
    assert told["lower"] - 1e-3 <= exact <= told["upper"] + 1e-3


def test_the_union_of_three_counts_no_value_twice():
    synopses = Synopses()
    for uid in (1, 2, 3):
        synopses.send(request(1, 7, uid=uid, param=PROGRAMS[7].add))
    told = synopses.send(request(6, 7, param=["3", "1", "2", "3"]))
    assert told["lower"] <= len({values["price"] for _, _, values in ROWS}) <= told["upper"]


def test_an_estimate_sent_as_an_add_gets_the_same_answer():
    synopses = Synopses()
    synopses.send(request(1, 1, param=PROGRAMS[1].add))
    asked = {synopses.send(request(i, 1, param=["K1"]))["estimation"] for i in (1, 3, 4)}
    assert len(asked) == 1
