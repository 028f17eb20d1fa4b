"""What outlives its time goes: synopses by ttl, streams when they are idle."""

import pytest
from wire_messages import create, tuples

from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine

T0 = 1_700_000_000_000
TOTAL = {"type": "total"}


def rows(*streams, times=1):
    return tuples("d", [(s, {"k": "a", "v": 1.0}) for s in streams] * times)


def started(*requests, shards=3, time=T0):
    engine = LocalEngine(shards=shards)
    for reply in engine.replies(requests, time=time):
        assert reply["status"] == "ok", reply
    engine.settle()
    return engine


def after(engine, seconds, data=()):
    return [*engine.tick(T0 + round(seconds * 1000)).replies(data=data), *engine.settle()]


def uids(engine):
    return [one["uid"] for one in engine.ask(op="list")["value"]]


def described(engine, uid="u"):
    return engine.ask(op="describe", uid=uid)["value"]


def total(engine, stream=None, uid="u"):
    """None for a stream that is not known."""
    named = {} if stream is None else {"stream": stream}
    return engine.ask(op="estimate", uid=uid, query=TOTAL, **named).get("value")


def arrays(engine):
    """What synopses hold: arrays beside those of the engine's own files."""
    names = [name for store in engine.stores for name, _ in store.arrays()]
    return [name for name in names if not name.endswith(".sizes")]


# -- ttl ------------------------------------------------------------------------------------------


def test_a_synopsis_goes_when_its_time_is_over_and_gives_everything_back():
    engine = started(create("u", ttl="10s", scope="stream"), create("v", ttl="20s"))
    engine.replies(data=rows("s", "t"))
    after(engine, 9.999)
    assert uids(engine) == ["u", "v"]
    assert described(engine)["expires"] == T0 + 10_000
    after(engine, 10)
    assert uids(engine) == ["v"]
    assert engine.ask(op="estimate", uid="u", query=TOTAL)["code"] == "unknown_synopsis"
    after(engine, 20)
    assert (uids(engine), arrays(engine), engine.due) == ([], [], None)


def test_a_tuple_that_comes_with_the_last_tick_is_not_missed_by_others():
    engine = started(create("u", ttl="10s"), create("v"))
    after(engine, 10, data=rows("s"))
    assert total(engine, uid="v") == 1


def test_other_names_of_a_shared_synopsis_go_on():
    engine = started(
        create("u", ttl="10s"), create("v", reuse=True), create("w", reuse=True, ttl="20s")
    )
    engine.replies(data=rows("s"))
    after(engine, 10)
    assert uids(engine) == ["v", "w"]
    assert (total(engine, uid="v"), total(engine, uid="w")) == (1, 1)
    after(engine, 20)
    assert (uids(engine), total(engine, uid="v")) == (["v"], 1)


def test_time_counts_from_creation_also_when_the_uid_is_created_again():
    engine = started(create("u", ttl="10s"))
    engine.replies([{**create("u", ttl="10s"), "id": "other"}], time=T0 + 8_000)
    after(engine, 10)
    assert uids(engine) == []
    engine.replies([{**create("u", ttl="10s"), "id": "third"}], time=T0 + 12_000)
    after(engine, 21)
    assert uids(engine) == ["u"]
    after(engine, 22)
    assert uids(engine) == []


def test_a_synopsis_that_was_deleted_and_made_again_without_ttl_stays():
    engine = started(create("u", ttl="10s"))
    engine.replies([{"id": "x", "op": "delete", "uid": "u"}, {**create("u"), "id": "again"}])
    after(engine, 60)
    assert uids(engine) == ["u"]


def test_due_names_the_first_expiry():
    engine = started(create("u", ttl="20s"), create("v", ttl="10s"))
    assert engine.due == T0 + 10_000
    after(engine, 10)
    assert engine.due == T0 + 20_000
    after(engine, 20)
    assert engine.due is None


def test_a_clock_set_back_changes_nothing():
    engine = started(create("u", ttl="10s"), create("i", scope="stream", idle="4s"))
    after(engine, 8, data=rows("s"))
    for seconds in (-1000, 0, 3):
        after(engine, seconds)
    assert uids(engine) == ["u", "i"]
    assert engine.shard(0).registry.time == T0 + 8_000
    after(engine, 10)
    assert uids(engine) == ["i"]


def test_a_clock_far_ahead_ends_what_has_a_time_and_nothing_else():
    engine = started(create("u", ttl="1d"), create("v"), create("i", scope="stream", idle="1d"))
    engine.replies(data=rows("s"))
    after(engine, 10**9)
    assert uids(engine) == ["v", "i"]
    assert total(engine, uid="v") == 1
    assert total(engine, "s", uid="i") == 1, "it had a tuple since the last tick"
    after(engine, 3 * 10**9)
    assert total(engine, "s", uid="i") is None


@pytest.mark.parametrize("field", ["ttl", "idle"])
@pytest.mark.parametrize("value", ["0s", "-1s", "soon", 5, "99999d", True])
def test_impossible_lifetimes_are_refused(field, value):
    (reply,) = LocalEngine().replies([create("u", scope="stream", **{field: value})])
    assert (reply["status"], reply["field"]) == ("error", field)


@pytest.mark.parametrize("scope", ["dataset", {"stream": "s"}])
def test_idle_is_refused_where_there_is_one_stream(scope):
    (reply,) = LocalEngine().replies([create("u", scope=scope, idle="10s")])
    assert (reply["status"], reply["field"]) == ("error", "idle")


# -- idle -----------------------------------------------------------------------------------------


def test_streams_without_tuples_are_forgotten_and_the_others_stay():
    engine = started(create("u", scope="stream", idle="10s"))
    streams = [f"s{n}" for n in range(30)]
    after(engine, 1, data=rows(*streams))
    for second in range(2, 15):
        after(engine, second, data=rows(*streams[:10]))
    assert described(engine)["streams"] == 10
    assert total(engine, "s3") == 14
    assert total(engine, "s20") is None


def test_a_stream_is_never_forgotten_before_its_time():
    engine = started(create("u", scope="stream", idle="1s"))
    for half in range(1, 20):  # a tuple every half second, between ticks of a second
        if half % 2:
            engine.replies(data=rows("s"))
        else:
            after(engine, half / 2)
    assert total(engine, "s") == 10


def test_slots_of_forgotten_streams_are_used_again_and_are_empty():
    engine = started(create("u", scope="stream", idle="5s"), shards=1)
    for round_ in range(6):
        second = round_ * 20
        after(engine, second, data=rows(*(f"{round_}-{n}" for n in range(50)), times=2))
        assert described(engine)["streams"] == 50
        assert total(engine, f"{round_}-7") == 2
        after(engine, second + 6)
        after(engine, second + 12)
        assert described(engine)["streams"] == 0
    (bank,) = list(engine.shard(0)._banks.values())
    assert bank.used == 50


def test_a_stream_that_was_put_in_is_not_forgotten_at_once():
    engine = started(create("u", scope="stream", idle="10s"), create("v"), shards=1)
    engine.replies(data=rows("s"))
    state = engine.ask(op="export", uid="u", stream="s")["value"]
    after(engine, 1)
    after(engine, 20)
    assert described(engine)["streams"] == 0
    engine.run([{"id": "i", "op": "import", "uid": "u", "stream": "t", "state": state}])
    after(engine, 21)
    assert total(engine, "t") == 1
    after(engine, 40)
    assert total(engine, "t") is None


def test_a_stream_with_a_window_goes_as_a_whole_or_not_at_all():
    window = {"type": "sliding", "size": 100, "slide": 2}
    engine = started(create("u", scope="stream", idle="10s", window=window))
    after(engine, 1, data=rows("gone"))
    for second in range(2, 30):
        after(engine, second, data=rows("s"))
    assert total(engine, "s") == 28
    assert total(engine, "gone") is None


def test_idle_synopses_ask_for_ticks():
    engine = started(create("u", scope="stream", idle="20s"))
    after(engine, 1)
    assert T0 + 1_000 < engine.due <= T0 + 21_000
    engine.run([{"id": "x", "op": "delete", "uid": "u"}])
    assert engine.due is None


def test_lifetimes_replayed_from_the_log_leave_the_same_bytes():
    engine = started(
        create("u", scope="stream", idle="5s"), create("v", ttl="9s"), create("w", scope="stream")
    )
    for second in range(1, 20):
        streams = [f"s{n}" for n in range(20) if n % 7 == second % 7]
        after(engine, second, data=rows(*streams))
    for number, entries in enumerate(engine.entries):
        store = MemoryStore()
        for entry in entries:
            replay(open_shard(number, 3, store, engine.limits), entry)
        held = engine.stores[number]
        assert dict(store.blobs()) == dict(held.blobs())
        assert {n: a.tobytes() for n, a in store.arrays()} == {
            n: a.tobytes() for n, a in held.arrays()
        }
