"""One data set, asked as programs of INFORE ask: every answer beside the exact one."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from sde.infore import answer_of, translate
from sde.testing import LocalEngine
from sde.wire import Refusal, message_of
from tests.sde.infore.old_programs import PROGRAMS, request
from tests.synopses import naive_trajectory

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


def clock(time):
    """Seconds as text, in the fields that programs name; ships have `t`."""
    return {"time": str(time / 1000), "t": str(time // 1000)}


class OldEngine:
    """The stages of ours behind the translation, as a program of INFORE sees them."""

    def __init__(self, rows=(), snapshots=None):
        self._engine = LocalEngine(snapshots=snapshots)
        self._rows = rows
        self._requests = 0

    def send(self, message):
        """The answer to a request."""
        self._requests += 1
        place = f"requests-0-{self._requests}"
        told = {"op": None, "status": "ok"}
        try:
            for record in translate(message, place, self._running):
                told = self._engine.ask(**message_of(record))
                if told["status"] == "error":
                    break
        except Refusal as refused:
            told = {"op": None, **refused.fault.as_json()}
        return answer_of(message, told)

    def feed(self):
        """Send all the tuples, in two batches; what is told without being asked."""
        told = []
        for part in (0, 1):
            data = [
                {"dataSetkey": "Forex", "streamID": stream, "values": {**values, **clock(time)}}
                for stream, time, values in self._rows[part::2]
            ]
            self._engine.run(data=data)
            told += self._engine.settle()
        return told

    def _running(self, uid):
        found = self._engine.shard(0).registry.find(uid)
        return None if found is None else found.definition


def asking(number, rows=ROWS):
    """Make the synopsis of an id; a function that asks it."""
    engine = OldEngine(rows)
    told = engine.send(request(1, number, param=PROGRAMS[number].add))
    assert told["estimation"].startswith("Maintaining synopsis")
    engine.feed()
    return lambda *param: engine.send(request(3, number, param=list(param)))


def totals(weights):
    exact = defaultdict(float)
    for key, weight in zip(KEYS, weights, strict=True):
        exact[key] += weight
    return exact


@pytest.mark.parametrize("number", [1, 3, 8, 9])
def test_the_weight_of_a_key_lies_within_its_bounds(number):
    weights = PRICES if PROGRAMS[number].definition.values else np.ones(len(ROWS))
    ask = asking(number)
    for key, exact in list(totals(weights).items())[:80]:  # frequent ones and rare ones
        told = ask(key)
        assert type(told["estimation"]) is float
        assert told["lower"] - 1e-6 <= exact <= told["upper"] + 1e-6


def test_bloom_finds_every_key_and_few_others():
    ask = asking(2)
    assert all(ask(key)["estimation"] is True for key in sorted(set(KEYS))[:100])
    others = [ask(f"other {i}")["estimation"] for i in range(100)]
    assert sum(others) <= 3 * 0.02 * len(others)


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


@pytest.mark.parametrize("number", [10, 12])
def test_where_nothing_that_came_fitted_there_is_no_estimation(number):
    """It killed the batch: a sample without a value was read as a list."""
    kind = PROGRAMS[number].definition.kind
    native = {"op": "estimate", "status": "ok", "kind": kind, "value": None, "stream": "s"}
    told = answer_of({"requestID": 3, "synopsisID": number, "uid": 7, "param": []}, native)
    assert told["estimation"] is None


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


@pytest.mark.parametrize("number", [1, 3])
def test_a_join_of_two_lies_within_its_bounds(number):
    told = joined(number, 2)
    exact = sum(weight**2 for weight in totals(PRICES).values())
    assert told["lower"] - 1e-3 <= exact <= told["upper"] + 1e-3


def test_the_union_of_three_counts_no_value_twice():
    told = joined(7, 3)
    assert told["lower"] <= len({values["price"] for _, _, values in ROWS}) <= told["upper"]


def joined(number, count):
    engine = OldEngine(ROWS)
    uids = list(range(1, count + 1))
    for uid in uids:
        engine.send(request(1, number, uid=uid, param=PROGRAMS[number].add))
    engine.feed()
    return engine.send(request(6, number, param=[str(count), *uids]))


def test_an_estimate_sent_as_an_add_gets_the_same_answer():
    engine = OldEngine(ROWS)
    engine.send(request(1, 1, param=PROGRAMS[1].add))
    engine.feed()
    told = [engine.send(request(i, 1, param=["K1"]))["estimation"] for i in (3, 1, 4)]
    assert told[0] == told[1] == told[2] > 0


@pytest.mark.parametrize("number", [1, 2, 3, 7, 8, 9, 11, 13, 16])
def test_a_snapshot_brings_the_answer_back(number, tmp_path):
    program = PROGRAMS[number]
    engine = OldEngine(ROWS, tmp_path)
    engine.send(request(1, number, param=program.add))
    asked = [request(3, number, param=program.ask, uid=uid) for uid in (1110, 5)]
    for version in (0, 1):
        engine.feed()
        told = engine.send(request(100, number))["estimation"]
        assert told.endswith(f"Version: v{version}")
        if version == 0:
            first = engine.send(asked[0])
    names = "[syn_1110_Forex_v1, syn_1110_Forex_v0]"
    assert engine.send(request(301, number))["estimation"] == names
    assert engine.send(asked[0])["tuples"] == 2 * first["tuples"]
    engine.send(request(201, number, param=[0]))
    engine.send(request(202, number, param=["0", "5"]))
    for one in asked:
        told = engine.send(one)
        assert (told["estimation"], told["tuples"]) == (first["estimation"], first["tuples"])
    engine.send(request(200, number))
    assert engine.send(asked[0])["tuples"] == 2 * first["tuples"]
    assert "version" in engine.send(request(201, number, param=[2]))["error"]


def test_synopses_are_listed_updated_and_deleted():
    engine = OldEngine(ROWS)
    engine.send(request(1, 1, param=PROGRAMS[1].add))
    engine.feed()
    assert engine.send(request(3, 1, param=["K1"]))["tuples"] == len(ROWS)
    engine.send(request(7, 1, param=PROGRAMS[1].add))
    assert engine.send(request(3, 1, param=["K1"]))["tuples"] == len(ROWS)
    engine.send(request(7, 9, param=PROGRAMS[9].add))
    assert engine.send(request(3, 9, param=["K1"]))["tuples"] == 0
    listed = {"id": 1110, "type": "LossyCountingSynopsis", "parallelism": 4, "key": "Forex"}
    assert engine.send(request(1000))["estimation"] == {"Forex": [listed]}
    assert "Deleted" in engine.send(request(2))["estimation"]
    assert "1110" in engine.send(request(2))["error"]
    assert engine.send(request(1000))["estimation"] == {}


@pytest.mark.parametrize("number", [7, 10, 11, 13, 15, 16])
def test_a_continuous_synopsis_answers_when_its_value_has_changed(number):
    program = PROGRAMS[number]
    message = request(5, number, param=program.add)
    engine = OldEngine(ROWS)
    assert engine.send(message)["estimation"] == "Maintaining synopsis with UID: 1110"
    told = [answer_of(message, reply) for reply in engine.feed()]
    assert [one["number"] for one in told] == [1, 2]
    asked = [] if number == 13 else program.ask
    assert told[-1]["estimation"] == engine.send(request(3, number, param=asked))["estimation"]
