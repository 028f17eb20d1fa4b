"""Limits: over one of them is a fault or a counted loss; `bytes` says what is really taken."""

import numpy as np
import pytest
from wire_messages import create

from sde.decoding import Limits, decode_tuples
from sde.limits import StateLimits
from sde.shard.shard import Shard
from sde.storage.arena import Arena
from sde.testing import LocalEngine, messages
from sde.wire import decode_request
from synopses import KINDS

T0 = 1_700_000_000_000
SIZE = KINDS["count_min"]().memory


def rows(streams, times=1, dataset="d", start=0):
    return [
        {
            "dataset": dataset,
            "stream": f"s{n}",
            "time": T0 + 1000 * (start + t),
            "values": {"k": n * 7 + t, "v": 1.0 + n % 5, "x": 2.0, "y": 3.0, "z": float(t)},
        }
        for t in range(times)
        for n in range(streams)
    ]


def engine_with(shards=2, **limits):
    return LocalEngine(shards=shards, limits=StateLimits(**limits))


def described(engine, uid="u"):
    return engine.ask(op="describe", uid=uid)["value"]


def refused(reply):
    return (reply["status"], reply["code"], reply.get("field"))


# -- at creation ----------------------------------------------------------------------------------


def test_no_more_uids_than_the_limit_and_deleting_makes_room():
    engine = engine_with(max_synopses=2)
    replies = engine.run(
        [create("a"), create("b", reuse=True), create("c"), create("d", reuse=True)]
    )
    assert [replies[f"c-{u}"]["status"] for u in "abcd"] == ["ok", "ok", "error", "error"]
    assert replies["c-c"]["code"] == "limit_exceeded"
    engine.run([{"id": "x", "op": "delete", "uid": "a"}])
    assert engine.run([{**create("e"), "id": "e"}])["e"]["status"] == "ok"


def test_a_synopsis_that_is_too_large_is_refused():
    engine = engine_with(max_synopsis_bytes=SIZE)
    replies = engine.run([create("a"), create("b", params={"epsilon": 0.001})])
    assert replies["c-a"]["status"] == "ok"
    assert refused(replies["c-b"]) == ("error", "limit_exceeded", "params")


def test_windows_with_too_many_panes_or_too_large_ones_are_refused():
    engine = engine_with(max_panes=10, max_synopsis_bytes=8 * SIZE)
    ten = {"type": "sliding", "size": "4s", "slide": "1s", "keep": "2s", "lateness": "0s"}
    replies = engine.run(
        [
            create("a", window=ten),
            create("b", window={**ten, "keep": "3s"}),
            create("c", window={**ten, "keep": "9s"}),
            create("s", window={"type": "session", "gap": "1s", "keep": "1h"}),
            create("n", scope="stream", window={"type": "sliding", "size": 99, "slide": 1}),
        ]
    )
    assert replies["c-a"]["status"] == "ok"
    for uid in "bcsn":
        assert refused(replies[f"c-{uid}"]) == ("error", "limit_exceeded", "window")


@pytest.mark.parametrize(
    ("limits", "other"),
    [({"max_bytes": 4 * SIZE}, "error"), ({"max_dataset_bytes": 4 * SIZE}, "ok")],
)
def test_what_is_promised_must_fit(limits, other):
    engine = engine_with(**limits)
    replies = engine.run(
        [
            create("whole"),  # one in each of two shards
            create("one", scope={"stream": "s1"}),
            create("same", reuse=True),
            create("two", scope={"stream": "s2"}),
            create("more", scope={"stream": "s3"}),
            create("each", scope="stream"),
            create("other", dataset="e"),
        ]
    )
    assert [replies[f"c-{u}"]["status"] for u in ("whole", "one", "same", "two")] == ["ok"] * 4
    assert refused(replies["c-more"]) == ("error", "limit_exceeded", "params")
    assert replies["c-each"]["status"] == "ok"
    assert replies["c-other"]["status"] == other
    engine.run([{"id": "x", "op": "delete", "uid": "one"}])
    assert (
        engine.run([{**create("more", scope={"stream": "s3"}), "id": "y"}])["y"]["status"] == "ok"
    )


# -- while data comes -----------------------------------------------------------------------------


def test_who_asks_about_streams_is_told_that_some_found_no_room():
    engine = engine_with(max_bytes=40 * (SIZE + 100))
    engine.run([create("u", scope="stream")], rows(100, 3))
    shed = described(engine)["shed"]
    warning = f"{shed} tuples were dropped: no room for them within the limits"
    for asked in (
        {"op": "estimate", "stream": "*", "query": {"type": "total"}},
        {"op": "estimate", "stream": "*", "query": {"type": "total"}, "top": 2},
        {"op": "streams"},
    ):
        assert engine.ask(id="q", uid="u", **asked)["warnings"] == [warning]
    total = {"op": "estimate", "id": "q", "uid": "u", "query": {"type": "total"}}
    answers = [engine.ask(**total, stream=f"s{n}") for n in range(100)]
    (unknown, *_) = [answer for answer in answers if answer.get("code") == "unknown_stream"]
    assert "or none found room: the limits dropped" in unknown["message"]


@pytest.mark.parametrize("limit", ["max_bytes", "max_dataset_bytes"])
def test_streams_that_find_no_room_are_shed_and_counted(limit):
    most = 40 * (SIZE + 100)
    engine = engine_with(**{limit: most})
    engine.run([create("u", scope="stream")], rows(100, 3))
    engine.run(data=rows(100, 2))
    told = described(engine)
    assert 0 < told["streams"] <= 40
    assert told["shed"] > 0
    assert told["tuples"] + told["shed"] == 500
    assert told["tuples"] == 5 * told["streams"]
    assert told["streams"] * SIZE <= most
    known = [
        engine.ask(op="estimate", uid="u", stream=f"s{n}", query={"type": "total"})
        for n in range(100)
    ]
    assert sum(r["status"] == "ok" for r in known) == told["streams"]
    assert {r["value"] for r in known if r["status"] == "ok"} == {5}


def test_no_more_streams_than_the_limit_for_each_synopsis():
    engine = engine_with(max_streams=20)
    engine.run([create("u", scope="stream"), create("v", scope="stream")], rows(100))
    for uid in "uv":
        told = described(engine, uid)
        assert 10 <= told["streams"] <= 20
        assert told["shed"] == 100 - told["streams"]


@pytest.mark.parametrize("most", [10, 11, 4])
def test_the_parts_of_all_shards_are_no_more_than_the_limit(most):
    engine = engine_with(shards=4, max_streams=most)
    engine.run([create("u", scope="stream")], rows(200))
    assert described(engine)["streams"] == most


def test_a_shard_of_few_streams_still_has_room_for_one():
    engine = engine_with(shards=4, max_streams=3)
    engine.run([create("u", scope="stream")], rows(1))
    assert described(engine)["streams"] == 1


def test_one_data_set_does_not_take_the_room_of_another():
    engine = engine_with(shards=1, max_dataset_bytes=20 * (SIZE + 100))
    engine.run([create("u", scope="stream"), create("v", scope="stream", dataset="e")])
    engine.run(data=rows(15))
    engine.run(data=rows(15, dataset="e"))
    assert (described(engine)["shed"], described(engine, "v")["shed"]) == (0, 0)


def test_what_was_promised_is_kept_although_streams_took_the_rest():
    engine = engine_with(shards=1, max_bytes=10 * (SIZE + 100))
    engine.run([create("u", scope="stream"), create("whole")])
    engine.run(data=rows(50))
    assert described(engine, "whole")["shed"] == 0
    assert engine.ask(op="estimate", uid="whole", query={"type": "total"})["value"] == 50


def test_freed_room_is_used_again():
    engine = engine_with(shards=1, max_streams=10)
    engine.run([create("u", scope="stream", idle="5s")])
    engine.run(data=rows(10))
    for second in (1, 20):
        engine.tick(T0 + second * 1000).replies()
    engine.run(data=rows(30)[20:])
    told = described(engine)
    assert (told["streams"], told["shed"]) == (10, 0)


def test_an_import_finds_no_room_either():
    engine = engine_with(shards=1, max_streams=3)
    engine.run([create("u", scope="stream")], rows(3))
    state = engine.ask(op="export", uid="u", stream="s0")["value"]
    (reply,) = engine.replies(
        [{"id": "i", "op": "import", "uid": "u", "stream": "new", "state": state}]
    )
    assert (reply["status"], reply["code"]) == ("error", "limit_exceeded")
    assert described(engine)["streams"] == 3


# -- panes ----------------------------------------------------------------------------------------


def seconds(stream, count, start=0):
    """A tuple of each second, from so many seconds ago on."""
    return [
        {"dataset": "d", "stream": stream, "time": T0 + 1000 * (start + n), "values": {"k": n}}
        for n in range(count)
    ]


@pytest.mark.parametrize("limit", ["max_bytes", "max_dataset_bytes"])
@pytest.mark.parametrize("scope", ["dataset", {"stream": "s"}, "stream"])
def test_panes_of_every_scope_keep_to_the_limit_and_the_newest_are_kept(scope, limit):
    most = 40 * SIZE
    engine = engine_with(shards=1, **{limit: most})
    engine.run([create("u", scope=scope, window={"size": "1s", "keep": "2s"})])
    engine.run(data=seconds("s", 300), time=T0)
    engine.union.clear()  # before the watermark takes most of them away
    told = described(engine)
    assert told["panes"] * SIZE <= most
    assert told["panes"] >= 30
    assert (told["tuples"], told["shed"]) == (told["panes"], 300 - told["panes"])
    named = {"stream": "s"} if scope == "stream" else {}
    span = {"from": T0 + 270_000, "to": T0 + 300_000}
    total = engine.ask(op="estimate", uid="u", query={"type": "total"}, **named, **span)
    assert total["value"] == 30


def test_a_stream_finds_the_panes_that_were_promised_to_it_whatever_others_took():
    engine = engine_with(shards=1, max_bytes=20 * SIZE)
    window = {"size": "1s", "keep": "2s", "lateness": "0s"}  # five panes
    engine.run([create(f"u-{s}", scope={"stream": s}, window=window) for s in ("s", "t")])
    for data in (seconds("s", 300), seconds("t", 5)):
        engine.run(data=data, time=T0)
        engine.union.clear()  # before the watermark takes some of them away
    panes = {s: described(engine, f"u-{s}")["panes"] for s in ("s", "t")}
    assert panes == {"s": 15, "t": 5}


def test_panes_that_left_make_room_for_others():
    engine = engine_with(shards=1, max_bytes=20 * SIZE)
    engine.run([create("u", scope="stream", window={"size": "1s", "keep": "2s"})])
    for start in range(0, 300, 10):
        engine.run(data=seconds("s", 10, start), time=T0)
        engine.settle()
    told = described(engine)
    assert (told["shed"], told["late_dropped"]) == (0, 0)


# -- bytes ----------------------------------------------------------------------------------------

SMALL = {
    "count_min": {},
    "moments": {},
    "hyperloglog": {},
    "fm": {},
    "histogram": {"buckets": 10},
    "quantiles": {},
    "frequent_items": {"epsilon": 0.05},
    "dft": {"window": 60},
    "theta": {"lg_k": 9},
}
REACHES = {
    "dataset": "dataset",
    "stream": "stream",
    "idle": "stream",
    "tumbling": "stream",
    "session": "stream",
    "count": "stream",
}
WINDOWS = {
    "tumbling": {"type": "tumbling", "size": "10s"},
    "session": {"type": "session", "gap": "10s"},
    "count": {"type": "tumbling", "size": 4},
}


def allocated(folder):
    """Bytes of disk below a folder, without the registry."""
    files = [p for p in folder.rglob("*") if p.is_file() and "registry" not in str(p)]
    return sum(p.stat().st_blocks * 512 for p in files)


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("kind", SMALL)
def test_bytes_are_what_is_allocated(kind, reach, tmp_path):
    cls = KINDS[kind]
    if not cls.mergeable and reach not in ("stream", "idle"):
        pytest.skip(f"{kind} has no such scope or window")
    shard = Shard(0, 1, Arena(tmp_path), StateLimits())
    fields = {"idle": "10s"} if reach == "idle" else {}
    message = create(
        "u",
        kind,
        "k" if cls.reads & {"keys", "texts"} else None,
        value="v" if "values" in cls.reads else None,
        scope=REACHES[reach],
        params=SMALL[kind],
        window=WINDOWS.get(reach),
        **fields,
    )
    shard.create("u", decode_request(message, "requests-0-0").definition, T0)
    streams = 1 if reach == "dataset" else 3000
    for block in decode_tuples(messages(rows(streams), time=T0), 1, Limits()).blocks:
        shard.add(block)
    shard.save()
    (told,) = shard.figures([shard.registry.instance("u")])
    if reach == "dataset":  # a page for each small array
        assert told["bytes"] == pytest.approx(allocated(tmp_path), abs=30 * 4096)
    else:
        assert told["streams"] == streams
        assert told["bytes"] == pytest.approx(allocated(tmp_path), rel=0.1)


def test_synopses_for_one_stream_each_share_what_they_take_together(tmp_path):
    shard = Shard(0, 1, Arena(tmp_path), StateLimits())
    for n in range(1200):
        request = create(f"u{n}", "hyperloglog", scope={"stream": f"s{n}"})
        request = decode_request(request, "requests-0-0")
        shard.create(request.uid, request.definition, T0)
    for block in decode_tuples(messages(rows(1200), time=T0), 1, Limits()).blocks:
        shard.add(block)
    shard.save()
    told = shard.figures(shard.registry.uids(None).values())
    assert sum(t["bytes"] for t in told) == pytest.approx(allocated(tmp_path), rel=0.1)


def test_describe_and_list_say_the_same_bytes():
    engine = engine_with(shards=3)
    engine.run([create("u", scope="stream"), create("v")], rows(50))
    told = {one["uid"]: one["bytes"] for one in engine.ask(op="list")["value"]}
    assert told == {uid: described(engine, uid)["bytes"] for uid in "uv"}
    assert np.isclose(told["u"], 50 * SIZE, rtol=0.1)
