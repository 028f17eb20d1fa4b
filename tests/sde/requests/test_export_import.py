"""States that leave the engine and come back: import and export."""

import base64

import pytest
from exchanging import (
    SCOPES,
    WINDOWS,
    asked,
    contents,
    export,
    exports,
    feed,
    filled,
    kinds_and_scopes,
    make,
    put,
    rows,
)
from wire_messages import create

from sde.testing import LocalEngine
from synopses import KINDS


@pytest.mark.parametrize(("kind", "scope"), kinds_and_scopes())
def test_what_is_exported_and_imported_elsewhere_is_exported_the_same(kind, scope):
    engine = filled(make("u", kind, scope))
    other = LocalEngine(shards=2)
    other.run([make("u", kind, scope)])
    for one in asked(scope):
        reply = export(engine, "u", **one)
        told = put(other, "u", reply["value"], tuples=reply["tuples"], **one)
        assert (told["status"], told["kind"], told["op"]) == ("ok", kind, "import")
        again = export(other, "u", **one)
        assert (again["value"], again["tuples"]) == (reply["value"], reply["tuples"])


@pytest.mark.parametrize("scope", SCOPES, ids=str)
@pytest.mark.parametrize("kind", [k for k in KINDS if KINDS[k].order_free])
def test_importing_adds_to_what_is_there_and_replacing_takes_its_place(kind, scope):
    one, two = filled(make("u", kind, scope), seed=1), filled(make("u", kind, scope), seed=2)
    both = filled(make("u", kind, scope), seed=1)
    feed(both, rows(2))
    exact = kind != "sample"  # its records are known by where they stood in the topic
    for stream in asked(scope):
        reply = export(two, "u", **stream)
        put(one, "u", reply["value"], tuples=reply["tuples"], **stream)
        merged, expected = export(one, "u", **stream), export(both, "u", **stream)
        assert merged["tuples"] == expected["tuples"]
        if exact:
            assert merged["value"] == expected["value"]
        for _ in range(2):
            put(one, "u", reply["value"], tuples=reply["tuples"], mode="replace", **stream)
        replaced = export(one, "u", **stream)
        assert (replaced["value"], replaced["tuples"]) == (reply["value"], reply["tuples"])
    assert one.ask(op="describe", uid="u")["value"]["tuples"] == sum(
        tuples for _, tuples in exports(two, "u", scope)
    )


def test_replacing_one_stream_leaves_the_others():
    engine = filled(make("u", "count_min", "stream"))
    before = exports(engine, "u", "stream")
    put(engine, "u", before[0][0], mode="replace", stream="s3", tuples=1)
    after = exports(engine, "u", "stream")
    assert after[3] == (before[0][0], 1)
    assert after[:3] + after[4:] == before[:3] + before[4:]


def test_data_goes_on_after_an_import():
    engine = filled(make("u", "count_min"))
    state = export(engine, "u")
    other = LocalEngine(shards=2)
    other.run([make("u", "count_min")])
    put(other, "u", state["value"], tuples=state["tuples"])
    feed(other, rows(5))
    feed(engine, rows(5))
    assert export(other, "u")["value"] == export(engine, "u")["value"]


@pytest.mark.parametrize("kind", [k for k in KINDS if not KINDS[k].mergeable])
def test_what_cannot_be_merged_can_only_be_replaced(kind):
    engine = filled(make("u", kind, "stream"))
    state = export(engine, "u", stream="s1")["value"]
    before = contents(engine)
    refused = put(engine, "u", state, stream="s2")
    assert (refused["status"], refused["code"]) == ("error", "not_mergeable")
    assert contents(engine) == before
    assert put(engine, "u", state, stream="s2", mode="replace")["status"] == "ok"
    assert export(engine, "u", stream="s2")["value"] == state


def broken_states():
    engine = filled(make("u", "count_min"), make("h", "hyperloglog"))
    engine.run([create("p", params={"epsilon": 0.2})])
    good = base64.b64decode(export(engine, "u")["value"])
    other_kind, other_params = export(engine, "h")["value"], export(engine, "p")["value"]
    encoded = [base64.b64encode(bad).decode() for bad in (good[:-1], good[:9], b"", b"junk" * 99)]
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    return [other_kind, other_params, *encoded, base64.b64encode(bytes(flipped)).decode()]


@pytest.mark.parametrize("mode", ["merge", "replace"])
@pytest.mark.parametrize("scope", SCOPES, ids=str)
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(scope, mode):
    engine = filled(make("u", "count_min", scope))
    before = contents(engine)
    named = {"stream": "s2"} if scope == "stream" else {}
    for bad in broken_states():
        reply = put(engine, "u", bad, mode=mode, **named)
        assert (reply["status"], reply["code"], reply["field"]) == ("error", "bad_state", "state")
    assert contents(engine) == before


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"uid": "nope"}, "unknown_synopsis", "uid"),
        ({"stream": "s"}, "bad_query", "stream"),
        ({"state": "???"}, "bad_request", "state"),
        ({"state": 7}, "bad_request", "state"),
        ({"tuples": -1}, "bad_request", "tuples"),
        ({"tuples": 1.5}, "bad_request", "tuples"),
        ({"mode": "add"}, "bad_request", "mode"),
        ({"uid": "w"}, "bad_request", "uid"),
    ],
)
def test_an_import_that_makes_no_sense_is_refused_by_name(fields, code, field):
    engine = filled(make("u", "count_min"), make("w", "count_min", window=WINDOWS["tumbling"]))
    state = export(engine, "u")["value"]
    request = {"id": "i", "op": "import", "uid": "u", "state": state, **fields}
    (reply,) = engine.replies([request])
    assert (reply["status"], reply["code"], reply["field"]) == ("error", code, field)


def test_a_repeated_import_is_added_once():
    engine = filled(make("u", "count_min"))
    state = export(engine, "u")
    request = {"id": "i", "op": "import", "uid": "u", "state": state["value"]}
    replies = [engine.replies([request])[0] for _ in range(3)]
    assert [r["status"] for r in replies] == ["ok"] * 3
    total = engine.ask(op="estimate", uid="u", query={"type": "total"})["value"]
    assert total == 2 * sum(r["values"]["v"] for r in rows())
