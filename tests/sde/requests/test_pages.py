"""A list comes in pages, so that no reply outgrows its topic."""

from clients import Client
from sde.testing import LocalEngine, LocalTransport


def creates(uids):
    common = {"op": "create", "dataset": "d", "kind": "count_min", "key": "k"}
    return [{"id": f"c-{uid}", "uid": uid, **common} for uid in uids]


def test_pages_hold_every_synopsis_once_in_the_order_of_the_uids():
    engine = LocalEngine(shards=2)
    uids = [f"u{i}" for i in range(7)]
    engine.run(creates(reversed(uids)))
    after, pages = None, []
    while True:
        reply = engine.ask(op="list", after=after, limit=3)
        pages.append([each["uid"] for each in reply["value"]])
        after = reply.get("next")
        if after is None:
            break
    assert pages == [uids[:3], uids[3:6], uids[6:]]


def test_a_page_goes_on_behind_a_synopsis_that_was_deleted_meanwhile():
    engine = LocalEngine(shards=2)
    engine.run(creates(["a", "b", "c"]))
    first = engine.ask(op="list", limit=2)
    engine.ask(op="delete", uid=first["next"])
    rest = engine.ask(op="list", after=first["next"], limit=2)
    assert [each["uid"] for each in rest["value"]] == ["c"]
    assert "next" not in rest


def test_a_page_has_at_most_5000_synopses():
    reply = LocalEngine(shards=1).ask(op="list", limit=5001)
    assert (reply["code"], reply["field"]) == ("bad_request", "limit")


def test_the_client_fetches_all_pages_of_the_engine():
    engine = LocalEngine(shards=1)
    uids = [f"u{i:04}" for i in range(5003)]
    engine.run([{**each, "scope": {"stream": each["uid"]}} for each in creates(uids)])
    with Client(LocalTransport(engine)) as sde:
        assert [each.uid for each in sde.list()] == uids


def test_a_request_without_a_state_has_at_most_four_mebibytes():
    engine = LocalEngine(shards=1)
    reply = engine.ask(op="estimate", uid="u", query={"key": "x" * (5 << 20)})
    assert (reply["request"], reply["code"]) == ("q", "too_large")
