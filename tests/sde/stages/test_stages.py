"""The stages together, without Spark and Kafka: what a user sees."""

import base64
from collections import Counter

import datasketches
import numpy as np
import pytest
from wire_messages import create, tuples

from sde.shard.shard import stream_key
from sde.stages.maintain import replay
from sde.storage.chunks import dump
from sde.testing import LocalEngine
from synopses import KINDS, Items


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    streams, keys = rng.integers(0, 40, 3000), rng.zipf(1.4, 3000) % 50
    return [(f"s{s}", {"k": int(k), "v": int(s)}) for s, k in zip(streams, keys, strict=True)]


def test_a_data_set_is_summarised_over_all_shards(rows):
    engine = LocalEngine()
    replies = engine.run([create("u")], tuples("d", rows))
    assert replies["c-u"]["status"] == "ok"
    exact = Counter(v["k"] for _, v in rows)
    for key, count in exact.items():
        reply = engine.ask(op="estimate", uid="u", query={"key": key})
        assert reply["lower"] <= count <= reply["value"] <= count + 0.01 * len(rows)
        assert reply["tuples"] == len(rows)


def test_each_stream_has_its_own(rows):
    engine = LocalEngine()
    engine.run([create("u", scope="stream")], tuples("d", rows))
    exact = Counter((s, v["k"]) for s, v in rows)
    for (stream, key), count in exact.most_common(50):
        reply = engine.ask(op="estimate", uid="u", stream=stream, query={"key": key})
        assert reply["value"] == count
        assert reply["stream"] == stream


def test_a_named_stream_only_counts_its_own(rows):
    engine = LocalEngine()
    engine.run([create(f"u{i}", scope={"stream": f"s{i}"}) for i in range(40)], tuples("d", rows))
    exact = Counter((s, v["k"]) for s, v in rows)
    for i in range(40):
        reply = engine.ask(op="estimate", uid=f"u{i}", query={"key": 1})
        assert reply["value"] == exact[f"s{i}", 1]


def test_the_union_over_shards_is_not_the_sum():
    engine = LocalEngine(shards=5)
    everywhere = [(f"s{i}", {"k": k}) for i in range(50) for k in range(200)]
    engine.run([create("u", "hyperloglog")], tuples("d", everywhere))
    reply = engine.ask(op="estimate", uid="u")
    assert reply["lower"] <= 200 <= reply["upper"]
    assert reply["value"] == pytest.approx(200, rel=0.05)


def test_requests_see_the_batch_data_as_the_rule_says():
    engine = LocalEngine()
    data = tuples("d", [("s", {"k": 1})] * 10)
    ask = {"op": "estimate", "query": {"key": 1}}
    replies = engine.run(
        [
            create("before"),
            {"id": "q1", "uid": "before", **ask},
            create("after"),
            {"id": "q2", "uid": "after", **ask},
        ],
        data,
    )
    assert replies["q1"]["value"] == 10
    assert replies["q2"]["value"] == 0


def test_a_repeated_request_changes_nothing_and_gets_the_same_reply():
    engine = LocalEngine()
    first = engine.run([create("u")])["c-u"]
    engine.run([{"id": "d", "op": "delete", "uid": "u"}])
    again = engine.run([create("u")])["c-u"]
    assert {k: v for k, v in again.items() if k not in ("id", "batch")} == {
        k: v for k, v in first.items() if k not in ("id", "batch")
    }
    assert engine.ask(op="list")["value"] == []


def test_deleting_frees_the_slots_and_reuse_shares_them(rows):
    engine = LocalEngine()
    engine.run([create("u", scope="stream")], tuples("d", rows))
    engine.run([create("v", scope="stream", reuse=True)])
    listed = engine.ask(op="list")["value"]
    assert [(s["uid"], s["streams"], s["tuples"]) for s in listed] == [
        ("u", 40, 3000),
        ("v", 40, 3000),
    ]
    engine.run([{"id": "1", "op": "delete", "uid": "u"}])
    assert engine.ask(op="describe", uid="v")["value"]["tuples"] == 3000
    engine.run([{"id": "2", "op": "delete", "uid": "v"}])
    assert engine.ask(op="list")["value"] == []
    left = {n for store in engine.stores for n, _ in store.arrays()}
    assert left == {"registry.sizes", "desk.sizes", "ledger.sizes", "source_counts.sizes"}


def test_a_freed_slot_is_empty_for_the_next_one():
    engine = LocalEngine(shards=1)
    engine.run(
        [create("a", scope={"stream": "s"}), create("b", scope={"stream": "t"})],
        tuples("d", [("s", {"k": 1})] * 9),
    )
    engine.run([{"id": "x", "op": "delete", "uid": "a"}])
    engine.run([create("c", scope={"stream": "u"})], tuples("d", [("u", {"k": 2})]))
    assert engine.ask(op="estimate", uid="c", query={"key": 1})["value"] == 0
    assert engine.ask(op="estimate", uid="c", query={"key": 2})["value"] == 1


def test_questions_about_two_synopses_merge_each_over_the_shards(rows):
    engine = LocalEngine()
    engine.run([create("a"), create("b")], tuples("d", rows))
    exact = sum(n * n for n in Counter(v["k"] for _, v in rows).values())
    reply = engine.ask(op="estimate", uids=["a", "b"], query={"type": "inner_product"})
    assert reply["lower"] <= exact <= reply["value"]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"op": "estimate", "uid": "nope"}, "unknown_synopsis"),
        ({"op": "estimate", "uid": "u"}, "bad_query"),
        ({"op": "estimate", "uid": "u", "query": {"key": 1}, "stream": "s"}, "bad_query"),
        ({"op": "estimate", "uid": "u", "query": {"type": "x"}}, "bad_query"),
        ({"op": "estimate", "uid": "e", "query": {"key": 1}}, "bad_query"),
        ({"op": "estimate", "uid": "e", "query": {"key": 1}, "stream": "?"}, "unknown_stream"),
        ({"op": "estimate", "uids": ["u", "h"], "query": {"type": "inner_product"}}, "bad_query"),
        ({"op": "delete", "uid": "nope"}, "unknown_synopsis"),
        ({"op": "describe", "uid": "nope"}, "unknown_synopsis"),
        ({"op": "frobnicate"}, "unknown_op"),
        ({"op": "delete"}, "bad_request"),
        ({"op": "delete", "uid": "u", "colour": "red"}, "bad_request"),
    ],
)
def test_a_bad_request_gets_one_fault_and_the_rest_goes_on(request_, code):
    engine = LocalEngine()
    engine.run(
        [create("u"), create("e", scope="stream"), create("h", "hyperloglog")],
        tuples("d", [("s", {"k": 1})]),
    )
    reply = engine.ask(**request_)
    assert (reply["status"], reply["code"]) == ("error", code)
    assert reply["message"]
    assert engine.ask(op="estimate", uid="u", query={"key": 1})["value"] == 1


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"\xff\xfe", b"null", b'{"op": 3}', b"{}"])
def test_anything_on_the_request_topic_is_answered(payload):
    engine = LocalEngine()
    (reply,) = engine.run([payload]).values()
    assert reply["status"] == "error"


def test_tuples_without_key_or_value_are_counted_as_skipped():
    engine = LocalEngine()
    data = tuples("d", [("s", {"k": "a", "v": 2}), ("s", {"v": 1}), ("s", {"k": "a", "v": "x"})])
    engine.run([create("u", value="v")], data)
    described = engine.ask(op="describe", uid="u")["value"]
    assert (described["tuples"], described["skipped"]) == (1, 2)
    assert engine.ask(op="estimate", uid="u", query={"key": "a"})["value"] == 2


def test_the_log_restores_the_shards_byte_for_byte(rows):
    engine = LocalEngine()
    engine.run([create("u", scope="stream"), create("h", "hyperloglog")], tuples("d", rows[:1000]))
    engine.run([{"id": "q", "op": "list"}, create("late")], tuples("d", rows[1000:2000]))
    engine.run([{"id": "x", "op": "delete", "uid": "h"}], tuples("d", rows[2000:]))
    twin = LocalEngine()
    for number in range(3):
        for entry in engine.entries[number]:
            replay(twin.shard(number), entry)
        assert list(dump(twin.stores[number])) == list(dump(engine.stores[number]))


@pytest.mark.parametrize("kind", ["count_min", "hyperloglog", "fm", "bloom", "ams"])
def test_partitions_and_batch_cuts_do_not_show_in_the_state(rows, kind):
    states = []
    for partitions, size in ((1, 3000), (2, 700), (5, 111)):
        engine = LocalEngine()
        engine.run([create("u", kind, scope="stream"), create("w", kind)])
        for start in range(0, len(rows), size):
            batch = rows[start : start + size]
            for p in range(partitions):
                engine.run(data=tuples("d", batch[p::partitions]), partition=p)
        answers = {}
        for number in range(3):
            shard = engine.shard(number)
            for uid in ("u", "w"):
                instance = shard.registry.instance(uid)
                for i in range(40) if uid == "u" else [None]:
                    key = stream_key(instance.definition, f"s{i}")
                    found = shard.layer(instance).synopsis(key)
                    if found:
                        answers[uid, number, i] = (found[0].to_bytes(), found[1])
        states.append(answers)
    assert states[0] == states[1] == states[2]


def test_streams_beyond_the_limit_are_shed_and_counted(rows):
    from sde.limits import StateLimits

    engine = LocalEngine(shards=1, limits=StateLimits(max_streams=10))
    engine.run([create("u", scope="stream")], tuples("d", rows))
    described = engine.ask(op="describe", uid="u")["value"]
    assert described["streams"] == 10
    assert described["tuples"] + described["shed"] == len(rows)


@pytest.mark.parametrize("kind", ["count_min", "hyperloglog", "bloom"])
def test_export_gives_the_bytes_of_the_synopsis_of_all_tuples(rows, kind):
    engine = LocalEngine()
    engine.run([create("u", kind), create("s", kind, scope="stream")], tuples("d", rows))
    for uid, stream in (("u", None), ("s", "s7")):
        named = {} if stream is None else {"stream": stream}
        reply = engine.ask(op="export", uid=uid, **named)
        whole = KINDS[kind]()
        whole.add(Items.of([v["k"] for s, v in rows if stream in (None, s)]))
        assert base64.b64decode(reply["value"]) == whole.to_bytes()


def test_export_to_datasketches_is_refused_where_it_has_no_such_sketch():
    engine = LocalEngine()
    engine.run([create("h", "hyperloglog"), create("b", "bloom")], tuples("d", [("s", {"k": 1})]))
    state = base64.b64decode(engine.ask(op="export", uid="h", format="datasketches")["value"])
    assert round(datasketches.hll_sketch.deserialize(state).get_estimate()) == 1
    assert engine.ask(op="export", uid="b", format="datasketches")["code"] == "bad_request"


def test_a_defect_in_a_kind_is_a_fault_and_the_others_go_on(monkeypatch, caplog):
    engine = LocalEngine()
    engine.run([create("u"), create("h", "hyperloglog")], tuples("d", [("s", {"k": 1})]))
    monkeypatch.setattr(KINDS["hyperloglog"], "cardinality", lambda self: 1 // 0)
    replies = engine.run(
        [
            {"id": "broken", "op": "estimate", "uid": "h"},
            {"id": "whole", "op": "estimate", "uid": "u", "query": {"key": 1}},
        ]
    )
    assert replies["broken"]["code"] == "internal"
    assert "ZeroDivisionError" in replies["broken"]["message"]
    assert replies["whole"]["value"] == 1


def test_replies_come_in_the_order_of_the_requests():
    engine = LocalEngine()
    asked = [f"q{i}" for i in range(25)]
    assert list(engine.run([{"id": name, "op": "list"} for name in asked])) == asked
