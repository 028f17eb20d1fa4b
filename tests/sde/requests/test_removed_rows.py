"""Rows that a database deleted: linear kinds take them away, others say that they do not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_messages import create

from sde.banks import bank
from sde.decoding.preview import preview
from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine
from sde.testing.messages import TIME, messages
from sde.tuples.needs import NeedsByDataset
from sde.wire.sources import Preview

MAPPING = {"topic": "db.rows", "dataset": "d", "stream": "city", "changes": "debezium"}
TIMED = {**MAPPING, "time": "at"}
TUMBLING = {"type": "tumbling", "size": "10s", "keep": "1h", "lateness": "1h"}
SLIDING = {"type": "sliding", "size": "30s", "slide": "10s", "keep": "1h", "lateness": "1h"}
LINEAR = {
    "count_min": {"key": "item", "value": "price", "params": {"epsilon": 0.2}},
    "ams": {"key": "item", "value": "price", "params": {"epsilon": 0.5}},
    "histogram": {"key": None, "value": "price"},
    "log_histogram": {"key": None, "value": "price", "params": {"relative_error": 0.2}},
}
PLACES = {
    "whole": {},
    "each": {"scope": "stream"},
    "named": {"scope": {"stream": "athens"}},
    "tumbling": {"window": TUMBLING},
    "sliding": {"window": SLIDING, "scope": "stream"},
    "where": {"where": "price > 20 and $time > 0"},
}
OTHERS = {
    "hyperloglog": {"key": "item"},
    "bloom": {"key": "item"},
    "quantiles": {"key": None, "value": "price"},
    "moments": {"key": None, "value": "price"},
    "count_min_conservative": {"key": "item", "value": "price"},
}
QUERIES = {
    "bloom": {"key": "i1"},
    "count_min_conservative": {"key": "i1"},
    "quantiles": {"q": 0.5},
}


def row(n, **others):
    """Prices have more decimals than are counted: what rounding loses is taken away, too."""
    city = ["athens", "berlin", "chania"][n % 3]
    return {
        "id": n,
        "city": city,
        "item": f"i{n % 7}",
        "price": n % 50 + 0.1234,
        "at": TIME + 1000 * (n % 90),
        **others,
    }


def added(of, op="c"):
    return {"before": None, "after": of, "op": op}


def updated(before, after):
    return {"before": before, "after": after, "op": "u"}


def removed(of):
    return {"before": of, "after": None, "op": "d"}


def engine_with(creates, mapping=TIMED, **options):
    engine = LocalEngine(**options)
    for reply in engine.run(creates).values():
        assert reply["status"] == "ok", reply
    assert engine.ask(op="source", id="s", name="rows", **mapping)["status"] == "ok"
    return engine


LINEAR_CREATES = [
    create(f"{kind}-{place}", kind, **{**fields, **of_place})
    for kind, fields in LINEAR.items()
    for place, of_place in PLACES.items()
]


def states(engine, creates=LINEAR_CREATES):
    """The bytes of all synopses: of a stream, where they are of each, and of all windows."""
    exports = []
    for one in creates:
        stream = {"stream": "athens"} if one.get("scope") == "stream" else {}
        span = {"from": TIME, "to": TIME + 90_000} if "window" in one else {}
        exports.append({"id": one["uid"], "op": "export", "uid": one["uid"], **stream, **span})
    replies = [*engine.replies(exports), *engine.settle()]
    assert all(reply["status"] == "ok" for reply in replies), replies
    return {reply["uid"]: reply["value"] for reply in replies}


def estimate(engine, uid, **query):
    """An answer, which takes a batch more where the shards mean different windows."""
    asked = {"id": "q", "op": "estimate", "uid": uid, "query": query}
    (answer,) = [*engine.replies([asked]), *engine.settle()]
    return answer


@pytest.mark.parametrize("batches", [1, 3])
def test_linear_kinds_have_the_states_of_the_rows_that_are_left(batches):
    rows = [row(n) for n in range(240)]
    gone = rows[::4] + rows[1::8]
    changes = [added(r) for r in rows] + [removed(r) for r in gone]
    engine = engine_with(LINEAR_CREATES)
    for part in np.array_split(np.arange(len(changes)), batches):
        engine.send_records("rows", [changes[i] for i in part])
        states(engine)  # what was asked before must not be what is answered after
    left = engine_with(LINEAR_CREATES)
    left.send_records("rows", [added(r, "r") for r in rows if r not in gone])
    assert states(engine) == states(left)
    assert engine.letters == []


def test_a_row_that_is_updated_counts_again_and_is_removed_as_it_was_last():
    first, last = row(1), row(1, item="i9")
    engine = engine_with([create("u", "count_min", "item")])
    engine.send_records("rows", [added(first), updated(first, last), removed(last)])
    assert estimate(engine, "u", key="i1")["value"] == 1
    assert estimate(engine, "u", key="i9")["value"] == 0


def test_every_change_is_a_tuple():
    engine = engine_with([create("u", "count_min", "item")])
    engine.send_records("rows", [added(row(1)), added(row(2)), removed(row(1))])
    answer = estimate(engine, "u", type="total")
    assert (answer["value"], answer["tuples"], "warnings" in answer) == (1, 3, False)


def test_a_replay_of_the_log_takes_the_same_rows_away():
    engine = engine_with(LINEAR_CREATES)
    engine.send_records("rows", [added(row(n)) for n in range(100)])
    engine.send_records("rows", [removed(row(n)) for n in range(0, 100, 3)])
    again = LocalEngine()
    for number, entries in enumerate(engine.entries):
        store = MemoryStore()
        for entry in entries:
            replay(open_shard(number, len(engine.stores), store, engine.limits), entry)
        again.stores[number] = store
    assert states(again) == states(engine)


def test_blocks_that_are_read_again_take_the_same_rows_away():
    changes = [added(row(n)) for n in range(60)] + [removed(row(n)) for n in range(0, 60, 7)]
    engines = [engine_with(LINEAR_CREATES) for _ in range(2)]
    engines[0].wanted = NeedsByDataset({})  # as if nobody had read the data set a moment ago
    for engine in engines:
        engine.send_records("rows", changes)
    assert states(engines[0]) == states(engines[1])


def test_distinct_keys_that_are_shared_are_taken_away_once_for_each_tuple():
    shared = [
        create("one", "count_min", "item", value="price"),
        create("two", "count_min", "item", value="price", params={"epsilon": 0.3}),
        create("ams", "ams", "item", value="price"),
        create("distinct", "hyperloglog", "item"),
    ]
    rows = [row(n) for n in range(4000)]
    engine = engine_with(shared, shards=1)
    engine.send_records("rows", [added(r) for r in rows])
    engine.send_records("rows", [removed(r) for r in rows[:3000]])
    left = engine_with(shared, shards=1)
    left.send_records("rows", [added(r) for r in rows[3000:]])
    assert states(engine, shared[:3]) == states(left, shared[:3])


def test_states_taken_away_in_parts_are_those_taken_away_at_once(monkeypatch):
    engines = [engine_with(LINEAR_CREATES) for _ in range(2)]
    for engine in engines:
        engine.send_records("rows", [added(row(n)) for n in range(90)])
        engine.send_records("rows", [removed(row(n)) for n in range(60)])
        monkeypatch.setattr(bank, "_SUBTRACTED_BYTES", 1)
    assert states(engines[0]) == states(engines[1])


@pytest.mark.parametrize("kind", OTHERS)
def test_other_kinds_stay_as_they_are_and_say_so(kind):
    creates = [create("u", kind, **OTHERS[kind])]
    engine, left = engine_with(creates), engine_with(creates)
    for one in (engine, left):
        one.send_records("rows", [added(row(n)) for n in range(40)])
    engine.send_records("rows", [removed(row(n)) for n in range(3)])
    assert states(engine, creates) == states(left, creates)
    query = {
        "bloom": {"key": "i1"},
        "count_min_conservative": {"key": "i1"},
        "quantiles": {"q": 0.5},
    }
    answer = estimate(engine, "u", **query.get(kind, {}))
    expected = f"3 rows that were deleted are still counted: {kind} cannot take tuples away"
    assert (answer["tuples"], answer["warnings"]) == (40, [expected])
    assert engine.letters == []


@pytest.mark.parametrize(
    "window",
    [
        {"type": "tumbling", "size": 100},
        {"type": "session", "gap": "5s"},
        {"type": "tumbling", "size": "1h", "time": "arrival"},
    ],
)
def test_windows_that_do_not_know_where_a_row_was_counted_say_so(window):
    creates = [create("u", "count_min", "item", scope={"stream": "athens"}, window=window)]
    engine = engine_with(creates)
    engine.send_records("rows", [added(row(0)), added(row(3)), added(row(1))])
    engine.send_records("rows", [removed(row(0)), removed(row(1))])
    answer = estimate(engine, "u", type="total")
    assert answer["warnings"] == [
        "1 row that was deleted is still counted: count_min in such a window cannot take "
        "tuples away"
    ]
    assert answer["value"] == 2


def test_only_deleted_rows_that_the_condition_is_true_of_are_still_counted():
    engine = engine_with([create("u", "hyperloglog", "item", where="price > 20")])
    engine.send_records("rows", [added(row(n)) for n in range(30)])
    engine.send_records("rows", [removed(row(n)) for n in (3, 25)])
    (warning,) = estimate(engine, "u")["warnings"]
    assert warning.startswith("1 row that was deleted is still counted")


def test_a_deleted_row_without_a_time_is_in_no_window_and_leaves_those_without_one():
    creates = [
        create("all", "count_min", "item"),
        create("w", "count_min", "item", window=TUMBLING),
    ]
    engine = engine_with(creates, MAPPING)  # the time of a message is when its row was deleted
    engine.send_records("rows", [added(row(1)), added(row(2))])
    engine.send_records("rows", [removed(row(1))])
    assert estimate(engine, "all", type="total")["value"] == 1
    answer = estimate(engine, "w", type="total")
    assert (answer["value"], answer["warnings"]) == (2, ["1 tuple was dropped: no time in 'time'"])


def test_a_deleted_row_whose_window_has_closed_is_late_like_any_tuple():
    window = {**TUMBLING, "lateness": "5s"}
    engine = engine_with([create("u", "count_min", "item", window=window)])
    engine.send_records("rows", [added(row(n)) for n in range(90)])
    engine.settle()
    engine.send_records("rows", [removed(row(3)), removed(row(88))])
    engine.settle()
    asked = {"op": "estimate", "uid": "u", "query": {"type": "total"}}
    first, last = (engine.ask(**asked, end=TIME + ms) for ms in (10_000, 90_000))
    assert (first["value"], last["value"]) == (10, 9)
    assert last["warnings"] == ["1 tuple was dropped: too late, by more than 5s"]


def test_tombstones_are_passed_over_and_a_deleted_row_that_is_not_told_is_a_dead_letter():
    engine = engine_with([create("u", "count_min", "item")])
    engine.send_records("rows", [added(row(1)), removed(row(1)), b"", removed(None)])
    assert estimate(engine, "u", type="total")["value"] == 0
    (letter,) = engine.letters
    assert (letter["offset"], letter["field"]) == (3, "stream")
    assert "stream=null" in letter["message"]


def test_a_field_that_a_deleted_row_does_not_tell_is_missing_like_any():
    engine = engine_with([create("u", "count_min", "item")])
    engine.send_records("rows", [added(row(1)), removed({"city": "berlin"})])
    answer = estimate(engine, "u", type="total")
    assert answer["value"] == 1
    assert answer["warnings"] == ["field 'item' was missing in 1 of 2 tuples, which were left out"]


def test_rows_that_were_never_counted_make_no_state_that_cannot_be_read():
    engine = engine_with(LINEAR_CREATES)
    engine.send_records("rows", [added(row(3))])
    engine.send_records("rows", [removed(row(n)) for n in range(40)])
    for uid, state in states(engine).items():
        stream = {"stream": "athens"} if uid.endswith(("each", "sliding")) else {}
        span = {"end": TIME + 30_000} if uid.endswith(("tumbling", "sliding")) else {}
        query = {"key": "i3"} if uid.startswith("count_min") else {}
        query = query or ({} if uid.startswith("ams") else {"type": "quantile", "q": 0.5})
        answer = engine.ask(op="estimate", uid=uid, query=query, **stream, **span)
        assert answer["status"] == "ok", (uid, answer, state)


def test_a_watch_sees_that_a_row_is_gone():
    engine = engine_with([create("u", "count_min", "item")])
    engine.ask(op="watch", id="w", uid="u", on="change", query={"type": "total"})
    told = []
    for change in (added(row(1)), added(row(2)), removed(row(1))):
        engine.send_records("rows", [change])
        told += [reply["value"] for reply in engine.settle() if reply["request"] == "w"]
    assert told == [1, 2, 1]


def test_a_preview_marks_the_rows_that_would_be_taken_away():
    ingest = LocalEngine().wiring.ingest()
    seen = [messages([added(row(1)), removed(row(1)), removed(row(2, at=None))], "s/db.rows")]
    shown = preview(seen, Preview(**TIMED), ingest.on_data)["tuples"]
    assert [one.get("removes", False) for one in shown] == [False, True, True]
    assert [one["time"] for one in shown] == [TIME + 1000, TIME + 1000, None]
    assert shown[0]["values"] == shown[1]["values"]


FEW = [
    one for one in LINEAR_CREATES if one["uid"] in ("ams-whole", "count_min-tumbling", "ams-each")
]


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=40))
def test_whatever_comes_and_goes_the_states_are_those_of_what_is_left(turns):
    """Each turn inserts a row or deletes one that is there; a batch may end after any of them."""
    engine, there, batch = engine_with(FEW, shards=2), [], []
    for number, ends in turns:
        if number % 2 and there:
            batch.append(removed(there.pop(number % len(there))))
        else:
            there.append(row(number))
            batch.append(added(there[-1]))
        if ends:
            engine.send_records("rows", batch)
            batch = []
    engine.send_records("rows", [*batch, added(row(1))])
    left = engine_with(FEW, shards=2)
    left.send_records("rows", [added(r) for r in [*there, row(1)]])
    has_athens = any(r["city"] == "athens" for r in there)
    asked = [one for one in FEW if has_athens or one.get("scope") != "stream"]
    assert states(engine, asked) == states(left, asked)
