import json

import numpy as np
import orjson
import pyarrow as pa
import pytest

from bench.batches import Batch
from bench.goals import verdict
from bench.quick import Compared, committed_ratios
from bench.rates import Mark, Spread, TooShort, batch_rate, steady_rate, whole_rate
from bench.throughput.cases import CASES, EACH_KIND, HUNDRED, ONE, PER_STREAM, definitions
from bench.throughput.engine import progress
from bench.throughput.forms import (
    ARROW,
    AVRO,
    ESCAPED,
    FORMS,
    IN_LINES,
    JSON,
    LZ4,
    MAPPED,
    SHUFFLED,
    TLS,
    ZSTD,
    again_and_again,
    one_a_message,
)
from bench.throughput.layouts import BYTES
from bench.throughput.loop import _WAYS, Sketches
from bench.throughput.peers import PEERS, USER
from bench.throughput.report import ENGINE, Results, write
from bench.throughput.topics import Load
from bench.throughput.tuples import DATASET, make_tuples
from bench.throughput.worker import COUNT_MIN
from clients.lanes import lane_of
from clients.tuples import decode
from sde.testing import LocalEngine
from synopses import KINDS, CountMin


class Message:
    def __init__(self, payload):
        self._payload = payload

    def value(self):
        return self._payload


def test_a_tuple_has_114_bytes_and_says_what_its_columns_say():
    part = make_tuples(1000)[0]
    messages = [parcel.payload for parcel in one_a_message(part, 0, 5)]
    assert {len(message) for message in messages} == {BYTES} == {114}
    first = orjson.loads(messages[0])
    assert first == {
        "dataset": DATASET,
        "stream": f"S{part.streams[0]:04}",
        "time": part.times[0] + 5,
        "values": {
            "trader": f"T{part.traders[0]:05}",
            "price": part.prices[0] / 1000,
            "volume": part.volumes[0],
        },
    }


def test_every_form_holds_the_same_tuples_in_the_same_order():
    parts = make_tuples(3000)
    parcels = {form: list(again_and_again(form, parts, 6000)) for form in FORMS}
    read = {
        form: [t for parcel in parcels[form] for t in decode(parcel.payload)]
        for form in FORMS
        if form not in (MAPPED, AVRO)
    }
    assert len(read[JSON]) == 6000
    for form in (LZ4, ZSTD, TLS, SHUFFLED, IN_LINES, ARROW):
        assert read[form] == read[JSON]
    for tuple_ in read[ESCAPED]:
        tuple_["values"]["trader"] = tuple_["values"]["trader"].replace("é", "")
    assert read[ESCAPED] == read[JSON]


@pytest.mark.parametrize("form", [MAPPED, AVRO])
def test_an_engine_gets_the_same_tuples_of_topics_of_others(form):
    parts, states = make_tuples(500), []
    stream = parts[0].streams[0]
    for name in (JSON, form):
        engine = LocalEngine()
        create = {"kind": "count_min", "key": "trader", "value": "volume", "scope": "stream"}
        engine.ask(op="create", id="c", uid="c", dataset=DATASET, **create)
        mapping = FORMS[name].mapping
        assert engine.ask(op="source", id="s", name="s", topic="t", **mapping)["status"] == "ok"
        parcels = again_and_again(name, parts, 500)
        engine.send_records("s", [parcel.payload for parcel in parcels])
        assert engine.letters == []
        states.append(engine.ask(op="export", id="e", uid="c", stream=f"S{stream:04}")["value"])
        assert engine.ask(op="describe", uid="c")["value"]["tuples"] == 500
    assert states[0] == states[1]


def test_tuples_that_come_again_come_later():
    parts = make_tuples(500)
    times = [
        json.loads(parcel.payload)["time"]
        for parcel in again_and_again("json", parts, 1000)
        if parcel.lane == 0
    ]
    assert times == sorted(times)
    assert times[-1] > times[len(times) // 2 - 1]


def test_a_stream_stays_in_the_lane_the_sdk_would_give_it():
    for lane, part in enumerate(make_tuples(500)):
        assert {lane_of(DATASET, f"S{s:04}", 2) for s in part.streams} == {lane}


@pytest.mark.parametrize("form", FORMS)
def test_the_own_loop_counts_every_tuple_in_every_form(form):
    parts = make_tuples(2000)
    messages = [Message(parcel.payload) for parcel in again_and_again(form, parts, 2000)]
    exact = np.bincount(np.concatenate([part.traders for part in parts]))
    key = f"T{exact.argmax():05}"
    one, many = Sketches(), Sketches()
    name = FORMS[form].read_as
    assert _WAYS[name, "stream"](messages, many) == 2000
    assert sum(sketch.total_weight for sketch in many.values()) == 2000
    if (name, "dataset") in _WAYS:
        assert _WAYS[name, "dataset"](messages, one) == 2000
        assert one[""].total_weight == 2000
        assert form == ESCAPED or one[""].get_estimate(key) >= exact.max()


def test_the_own_loops_sketches_have_the_engines_shape():
    made = CountMin()
    assert {"num_hashes": made.depth, "num_buckets": made.width} == COUNT_MIN


def test_cases_are_what_they_are_called():
    assert len(definitions(ONE)) == 1
    assert definitions(PER_STREAM)[0][1]["scope"] == "stream"
    assert len({fields["epsilon"] for _, fields in definitions(HUNDRED)}) == 100
    assert {kind for kind, _ in definitions(EACH_KIND)} == set(KINDS)
    assert {case.form for case in CASES} == set(FORMS)


def test_a_load_counts_the_tuples_of_messages_before_an_offset():
    load = Load("t", [10, 0], [np.array([1000, 2000, 2500]), np.array([7])])
    assert load.tuples == 2507
    assert load.ends == {0: 13, 1: 1}
    assert load.read({("t", 0): 10, ("other", 0): 99}) == 0
    assert load.read({("t", 0): 12, ("t", 1): 0}) == 2000
    assert load.read({("t", 0): 14, ("t", 1): 2}) == 2507  # the transaction's own record
    assert load.of_source("s").read({("s/t", 0): 12, ("t", 0): 11}) == 2000


def test_the_engines_progress_begins_with_the_first_batch_that_read():
    def batch(number, offset):
        return Batch(number, 10.0 * number, {"triggerExecution": 4.0}, {("t", 0): offset})

    load = Load("t", [0], [np.array([5, 10, 15])])
    marks = progress([batch(0, 0), batch(1, 1), batch(2, 1), batch(3, 4)], load)
    assert marks == [Mark(10, 0), Mark(14, 5), Mark(34, 15)]


def test_a_steady_rate_is_of_the_time_in_which_all_were_busy():
    even = [Mark(t, 100 * t) for t in range(11)]
    late = [Mark(5 + t, 100 * t) for t in range(11)]
    assert steady_rate([even]) == pytest.approx(100)
    assert steady_rate([even, late]) == pytest.approx(200)


def test_workers_that_hardly_met_have_no_rate():
    with pytest.raises(TooShort, match="more tuples"):
        steady_rate([[Mark(0, 0), Mark(5.5, 10)], [Mark(5, 0), Mark(9, 10)]])


def test_a_rate_of_batches_leaves_out_the_warm_up_and_a_tiny_last_batch():
    marks = [Mark(0, 0), Mark(50, 300), Mark(51, 600), Mark(52, 900), Mark(60, 910)]
    assert batch_rate(marks) == pytest.approx(300)
    assert batch_rate([Mark(1, 0), Mark(3, 100)]) == pytest.approx(50)
    # A transaction's own records have offsets: what is behind them may be a batch of its own.
    assert batch_rate([Mark(0, 0), Mark(2, 998), Mark(9, 1000)]) == pytest.approx(499)
    assert whole_rate([Mark(1, 0), Mark(2, 998), Mark(9, 1000)]) == pytest.approx(125)


def test_to_have_measured_nothing_is_a_failure(capsys):
    assert verdict(Results().goals()) == 1
    assert verdict(results_of(3.1).goals()) == 0
    assert "14 not measured" in capsys.readouterr().out


def results_of(ratio):
    results = Results()
    for number in (1, 2, 3):
        results.add(USER.name, "json", number, 1000.0 * number)
        results.add(f"{ENGINE}: {PER_STREAM}", "json", number, ratio * 1000.0 * number)
    return results


def test_ratios_are_taken_within_a_round():
    assert results_of(1.5).ratio(f"{ENGINE}: {PER_STREAM}", "json", USER.name) == Spread(
        1.5, 1.5, 1.5
    )


def test_a_goal_that_was_not_measured_is_not_missed():
    goals = results_of(1.1).goals()
    assert [goal.met for goal in goals if goal.figure is not None] == [False]
    assert sum(goal.figure is None for goal in goals) == len(goals) - 1
    assert all(goal.met for goal in results_of(3.1).goals())


def test_results_are_written_and_read_again_for_comparison(tmp_path):
    write(results_of(1.3), {"machine": "m"}, ["Spark: no jars"], tmp_path)
    assert "not measured: Spark: no jars" in (tmp_path / "throughput.md").read_text()
    assert (tmp_path / "throughput.png").stat().st_size > 0
    ratios = committed_ratios(tmp_path / "throughput.json")
    assert ratios[f"{ENGINE}: {PER_STREAM}", "json"] == pytest.approx(1.3)


def test_a_loss_of_more_than_a_quarter_is_a_loss():
    assert Compared("x", committed=1.0, now=0.74).lost
    assert not Compared("x", committed=1.0, now=0.76).lost


def test_peers_that_want_other_packages_than_ours_have_their_own_interpreter():
    assert all(p.own_interpreter == ("loop" not in p.module) for p in PEERS)


def test_an_arrow_frame_is_what_the_sdk_sends():
    parcel = next(again_and_again("arrow", make_tuples(100), 100))
    table = pa.ipc.open_stream(parcel.payload).read_all()
    assert table.schema.metadata[b"dataset"] == DATASET.encode()
    assert len(table) == parcel.tuples
