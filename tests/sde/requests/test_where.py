"""Only tuples that `where` is true of are counted: against a count of the same tuples in Python."""

import numpy as np
import pytest
from sites import Sites
from wire_messages import create, tuples

from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine

T0 = 1_700_000_000_000
WHERE = "qty > 2 and venue in ('X', 'Y')"
TUMBLING = {"type": "tumbling", "size": "10s", "time": "ts", "lateness": "1s", "keep": "1h"}


def rows(count=400, seed=1):
    rng = np.random.default_rng(seed)
    made = []
    for n in range(count):
        values = {
            "k": f"k{rng.integers(5)}",
            "qty": int(rng.integers(6)),
            "venue": "XYZ"[rng.integers(3)],
            "ts": T0 + 100 * n,
        }
        if n % 11 == 0:
            del values["qty"]
        made.append((f"s{rng.integers(6)}", values))
    return made


def is_meant(values):
    return values.get("qty", 0) > 2 and values["venue"] in ("X", "Y")


def exact(made, key, keep=lambda stream, values: True):
    return sum(is_meant(v) and v["k"] == key and keep(s, v) for s, v in made)


def asked(engine, **fields):
    (answer,) = [*engine.replies([{"id": "q", "op": "estimate", **fields}]), *engine.settle()]
    assert answer["status"] == "ok", answer
    return answer


def running(*creates, shards=3):
    engine = LocalEngine(shards=shards)
    for reply in engine.run(creates).values():
        assert reply["status"] == "ok", reply
    return engine


def feed(engine, made, parts=4):
    for part in range(parts):
        engine.send("d", made[part::parts] if parts == 1 else made[len(made) * part // parts :
                    len(made) * (part + 1) // parts])  # fmt: skip


def test_a_data_set_is_counted_as_far_as_the_condition_is_true():
    engine, made = running(create("u", where=WHERE), create("all")), rows()
    feed(engine, made)
    for n in range(5):
        key = {"key": f"k{n}"}
        assert asked(engine, uid="u", query=key)["value"] == exact(made, f"k{n}")
    meant = sum(is_meant(v) for _, v in made)
    assert asked(engine, uid="u", query={"type": "total"})["value"] == meant
    assert asked(engine, uid="all", query={"type": "total"})["value"] == len(made)


def test_what_is_left_out_is_neither_skipped_nor_warned_of():
    engine, made = running(create("u", where=WHERE)), rows()
    feed(engine, made)
    answer = asked(engine, uid="u", query={"key": "k0"})
    described = engine.ask(op="describe", uid="u")["value"]
    meant = sum(is_meant(v) for _, v in made)
    assert "warnings" not in answer
    assert described["where"] == WHERE
    assert (described["tuples"], described["skipped"]) == (meant, 0)
    assert described["excluded"] == len(made) - meant


def test_each_stream_and_a_named_one_are_counted_alike():
    creates = [create("each", scope="stream", where=WHERE)]
    creates += [create(f"s{n}", scope={"stream": f"s{n}"}, where=WHERE) for n in range(6)]
    engine, made = running(*creates), rows()
    feed(engine, made)
    for n in range(6):
        expected = exact(made, "k1", lambda stream, _, own=f"s{n}": stream == own)
        each = asked(engine, uid="each", stream=f"s{n}", query={"key": "k1"})
        assert each["value"] == expected
        assert asked(engine, uid=f"s{n}", query={"key": "k1"})["value"] == expected


def test_a_stream_of_which_it_was_never_true_is_not_there_and_the_fault_says_why():
    engine = running(create("u", scope="stream", where="qty > 2"))
    engine.send("d", [("a", {"k": 1, "qty": 3}), ("b", {"k": 1, "qty": 1})])
    assert asked(engine, uid="u", stream="a", query={"key": 1})["value"] == 1
    refused = engine.ask(op="estimate", uid="u", stream="b", query={"key": 1})
    assert refused["code"] == "unknown_stream"
    assert refused["message"].endswith("has come yet that where (qty > 2) is true of")


@pytest.mark.parametrize("scope", ["dataset", "stream"])
def test_windows_count_what_is_meant_and_their_time_goes_on_with_every_tuple(scope):
    engine, made = running(create("u", scope=scope, where=WHERE, window=TUMBLING)), rows()
    feed(engine, made)
    engine.settle()
    stream = {"stream": "s1"} if scope == "stream" else {}
    for start in range(T0 // 10_000 * 10_000, T0 + 40_000, 10_000):

        def inside(s, v, start=start):
            return start <= v["ts"] < start + 10_000 and s == stream.get("stream", s)

        answer = asked(engine, uid="u", end=start + 10_000, query={"key": "k2"}, **stream)
        assert answer["value"] == exact(made, "k2", inside)
    engine.send("d", [("s1", {"k": "k2", "qty": 0, "venue": "X", "ts": T0 + 100_000})])
    engine.settle()
    answer = asked(engine, uid="u", query={"type": "total"}, **stream)
    assert answer["value"] == 0
    assert answer["window"]["start"] == T0 + 100_000
    assert engine.ask(op="describe", uid="u")["value"]["watermark"] == T0 + 100_000


def test_windows_by_count_count_only_what_is_meant():
    window = {"type": "tumbling", "size": 10}
    engine, made = running(create("u", scope="stream", where=WHERE, window=window)), rows()
    feed(engine, made)
    own = [v["k"] for s, v in made if s == "s3" and is_meant(v)]
    last = own[len(own) // 10 * 10 :] or own[-10:]
    answer = asked(engine, uid="u", stream="s3", query={"type": "total"})
    assert answer["value"] == len(last)


def test_sessions_end_where_tuples_that_are_meant_end():
    window = {"type": "session", "gap": "10s", "time": "ts", "keep": "1h"}
    engine = running(create("u", scope="stream", where="qty > 2", window=window))
    times = [(0, 5), (4, 5), (12, 0), (18, 5)]  # the third would have held the session together
    engine.send("d", [("s", {"k": 1, "qty": q, "ts": T0 + 1000 * t}) for t, q in times])
    engine.settle()
    answer = asked(engine, uid="u", stream="s", query={"type": "total"})
    assert (answer["value"], answer["window"]["start"]) == (1, T0 + 18_000)


def test_stream_and_time_of_a_tuple_may_be_named():
    where = f"$stream != 's0' and $time < {T0 + 5}"
    engine = running(create("u", where=where), create("w", where="$time >= 0"))
    sent = [{"dataset": "d", "stream": f"s{n % 3}", "time": T0 + n, "values": {"k": 1}}
            for n in range(9)]  # fmt: skip
    engine.run(data=sent)
    engine.run(data=sent)  # now that is known what is needed, the rest is left behind
    assert asked(engine, uid="u", query={"key": 1})["value"] == 2 * 3
    assert asked(engine, uid="w", query={"key": 1})["value"] == 2 * 9


def test_a_condition_that_was_never_true_is_told_with_the_answer():
    engine = running(create("u", where="qty > 100"), create("w", where="qty > 100",
                     scope={"stream": "s"}))  # fmt: skip
    assert "warnings" not in asked(engine, uid="u", query={"key": 1})
    engine.send("d", [("s", {"k": 1, "qty": 3}), ("t", {"k": 1}), ("s", {"k": 2})])
    answer = asked(engine, uid="u", query={"key": 1})
    assert answer["warnings"] == ["where (qty > 100) was true of none of 3 tuples"]
    assert (answer["value"], answer["upper"]) == (0, 0)
    named = asked(engine, uid="w", query={"key": 1})
    assert named["warnings"] == ["where (qty > 100) was true of none of 2 tuples"]
    engine.send("d", [("v", {"k": 1, "qty": 101})])
    assert "warnings" not in asked(engine, uid="u", query={"key": 1})


def test_a_field_that_is_missing_where_the_condition_is_true_is_still_skipped():
    engine = running(create("u", where="qty > 2"))
    engine.send("d", [("s", {"qty": 3}), ("s", {"qty": 3, "k": 1}), ("s", {"qty": 1})])
    (warning,) = asked(engine, uid="u", query={"key": 1})["warnings"]
    assert warning == "field 'k' was missing in 1 of 2 tuples, which were left out"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("qty >", "where='qty >': at character 6: found the end, expected a value"),
        ("'a' * 2 > 1", "found a text before '*', expected a number"),
        ("qty * 2", "found a number as the result, expected true or false"),
        ("lowr(k) == 'a'", "Did you mean lower?"),
        ("x" * 5000, "5,000 characters, expected at most 4,000"),
    ],
)
def test_a_wrong_condition_is_refused_with_the_words_of_the_parser(where, message):
    engine = LocalEngine()
    refused = engine.ask(**{**create("u"), "where": where})
    assert (refused["code"], refused["field"]) == ("bad_parameter", "where")
    assert message in refused["message"]
    assert engine.ask(op="list")["value"] == []


def test_a_condition_that_is_no_text_is_refused_by_its_form():
    for where in ("", 5, ["qty"]):
        refused = LocalEngine().ask(**{**create("u"), "where": where})
        assert (refused["code"], refused["field"]) == ("bad_request", "where")


def test_a_log_that_is_replayed_gives_the_same_states():
    creates = [create("u", where=WHERE), create("w", where=WHERE, scope="stream", window=TUMBLING),
               create("x", "sample", where="$time > 5 and qty < 3")]  # fmt: skip
    engine = running(*creates)
    feed(engine, rows())
    engine.settle()
    stores = [MemoryStore() for _ in engine.stores]
    for number, store in enumerate(stores):
        for entry in engine.entries[number]:
            replay(open_shard(number, len(stores), store, engine.limits), entry)
    twin = LocalEngine(shards=len(stores))
    twin.stores = stores
    for uid in "uwx":
        request = {"op": "describe", "uid": uid}
        assert twin.ask(**request)["value"] == engine.ask(**request)["value"]
    question = {"op": "estimate", "uid": "u", "query": {"key": "k1"}}
    assert twin.ask(**question)["digest"] == engine.ask(**question)["digest"]


def test_a_create_in_the_batch_of_its_tuples_reads_fields_that_nobody_read_before():
    engine = running(create("other"))
    engine.send("d", [("s", {"k": 1, "qty": 9})])
    sent = tuples("d", [("s", {"k": 1, "qty": 9, "venue": "X"}), ("s", {"k": 1, "qty": 1})])
    engine.run([create("u", where=WHERE)], data=sent)
    assert asked(engine, uid="u", query={"key": 1})["value"] == 1


def test_a_watch_for_each_key_answers_for_keys_that_are_meant():
    engine = running(create("u", where="qty > 2"))
    engine.ask(op="watch", id="w", uid="u", on="change", each="key")
    sent = [("s", {"k": "a", "qty": 3}), ("s", {"k": "b", "qty": 1}), ("t", {"k": "c", "qty": 5})]
    found = [*engine.replies(data=tuples("d", sent)), *engine.settle()]
    assert {reply["key"] for reply in found if reply["op"] == "watch"} == {"a", "c"}


def test_a_condition_is_computed_once_for_a_block_however_many_have_it(monkeypatch):
    from sde.banks import selection

    calls = []
    holds = selection.holds
    monkeypatch.setattr(selection, "holds", lambda *a: calls.append(str(a[0])) or holds(*a))
    creates = [create(f"u{n}", epsilon, where=WHERE) for n, epsilon in
               enumerate(["count_min", "hyperloglog", "bloom"])]  # fmt: skip
    engine = running(*creates, create("other", where="qty>3"), shards=1)
    engine.send("d", rows())
    assert sorted(calls) == sorted([WHERE, "qty > 3"])


@pytest.mark.parametrize(
    ("field", "changed"), [("where", {"where": "qty > 3"}), ("key", {"key": ["k", "venue"]})]
)
def test_sites_whose_definitions_differ_are_not_merged(field, changed):
    sites = Sites(names=("a", "b"))
    one = create("u", where="qty > 2")
    for site, request in {"a": one, "b": {**one, **changed}}.items():
        assert sites[site].ask(**request)["status"] == "ok"
    reply = sites.ask(op="estimate", uid="u", query={"type": "total"}, sites="*")
    assert f"{field}=" in reply["missing"]["b"]


def test_sites_with_the_same_condition_answer_as_one_engine():
    sites, made = Sites(names=("a", "b")), rows()
    assert sites.ask(**create("u", where=WHERE), sites="*")["status"] == "ok"
    sites["a"].send("d", made[:200])
    sites["b"].send("d", made[200:])
    sites.settle()
    reply = sites.ask(op="estimate", uid="u", query={"key": "k3"}, sites="*")
    assert reply["value"] == exact(made, "k3")


def test_a_snapshot_keeps_the_condition_and_the_fields_of_the_key(tmp_path):
    engine, made = LocalEngine(snapshots=tmp_path), rows()
    engine.run([create("u", key=["k", "venue"], where=WHERE)])
    feed(engine, made)
    engine.ask(op="snapshot", uid="u")
    other = LocalEngine(shards=2, snapshots=tmp_path)
    other.ask(op="restore", uid="u")
    described = other.ask(id="d", op="describe", uid="u")["value"]
    assert (described["key"], described["where"]) == (["k", "venue"], WHERE)
    feed(other, made)
    expected = 2 * sum(is_meant(v) and (v["k"], v["venue"]) == ("k1", "X") for _, v in made)
    assert asked(other, uid="u", query={"key": ["k1", "X"]})["value"] == expected
