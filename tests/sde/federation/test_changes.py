"""Create and delete at several sites: acknowledged by each, and in total."""

import pytest
from sites import T0, Sites
from wire_messages import create, tuples

from sde.testing import LocalEngine


def test_one_request_makes_the_same_definition_at_every_site():
    sites = Sites()
    reply = sites.ask(**create("u", params={"seed": 7}), sites="*")
    assert (reply["status"], reply["complete"]) == ("ok", True)
    assert reply["sites"].keys() == {"a", "b", "c"}
    told = [sites.ask(s, op="describe", uid="u")["value"] for s in ("a", "b", "c")]
    assert all(one["params"] == told[0]["params"] for one in told)
    assert told[0]["params"]["seed"] == 7


def test_only_the_sites_that_are_named_get_it():
    sites = Sites()
    assert sites.ask(**create("u"), sites=["a", "c"])["status"] == "ok"
    assert sites.ask("b", op="describe", uid="u")["code"] == "unknown_synopsis"
    assert sites.ask("c", op="describe", uid="u")["status"] == "ok"


def test_delete_is_acknowledged_by_all_or_names_those_that_did_not():
    sites = Sites()
    sites.ask(**create("u"), sites="*")
    assert sites.ask(op="delete", uid="u", sites=["b"])["status"] == "ok"
    reply = sites.ask(op="delete", uid="u", sites="*")
    assert (reply["status"], reply["code"]) == ("error", "unknown_synopsis")
    assert reply["missing"].keys() == {"b"}
    assert reply["sites"].keys() == {"a", "c"}
    assert "done at a, c" in reply["message"]


def test_a_site_that_refuses_is_named_with_its_reason():
    sites = Sites()
    sites.ask("c", **create("u", params={"epsilon": 0.5}))
    reply = sites.ask(**{**create("u"), "id": "again"}, sites="*")
    assert (reply["status"], reply["code"]) == ("error", "synopsis_exists")
    assert reply["missing"].keys() == {"c"}
    assert reply["sites"].keys() == {"a", "b"}


def test_a_site_that_is_down_is_named_and_gets_the_request_when_it_is_back():
    sites = Sites()
    sites.cut = {"b"}
    assert sites.ask(**create("u"), sites="*", deadline="3s") is None
    (reply,) = sites.later("a", 3000)
    assert (reply["code"], reply["missing"]) == ("incomplete", {"b": "no answer within 3s"})
    sites.cut = set()
    sites.settle()
    assert sites.ask("b", op="describe", uid="u")["status"] == "ok"


def test_a_repeated_request_changes_nothing_at_any_site():
    sites = Sites()
    first = sites.ask(**create("u"), sites="*")
    sites.ask(op="delete", uid="u", sites=["c"])
    again = sites.ask(**create("u"), sites="*")
    assert (first["status"], again["status"]) == ("ok", "ok")
    assert sites.ask("c", op="describe", uid="u")["code"] == "unknown_synopsis"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"sites": ["a", "nowhere"]}, "sites"),
        ({"sites": []}, "sites"),
        ({"sites": 5}, "sites"),
        ({"sites": "*", "deadline": "2m"}, "deadline"),
        ({"sites": "*", "deadline": 5}, "deadline"),
        ({"sites": "*", "nonsense": 5}, "nonsense"),
        ({"sites": "*", "op": "export"}, "sites"),
    ],
)
def test_what_is_wrong_with_a_request_is_told_at_once_and_to_nobody_else(fields, field):
    sites = Sites()
    (reply,) = sites["a"].replies([{"id": "r", "op": "delete", "uid": "u", **fields}])
    assert (reply["status"], reply["field"], reply["request"]) == ("error", field, "r")
    assert sites["a"].outbound == []


def test_an_engine_without_peers_is_a_site_of_its_own():
    engine = LocalEngine()
    engine.replies([create("u")], tuples("d", [("s", {"k": "x"})] * 3))
    engine.replies([{"id": "q", "op": "estimate", "uid": "u", "query": {"key": "x"}, "sites": "*"}])
    (reply,) = engine.settle()
    assert (reply["value"], reply["complete"]) == (3, True)
    assert reply["sites"].keys() == {"here"}


def test_sites_tells_who_answers_and_what_went_between():
    sites = Sites()
    sites.ask(**create("u"), sites="*")
    sites.cut = {"c"}
    assert sites.ask(op="sites") is None
    (reply,) = sites.later("a", 3000)
    told = {one["site"]: one for one in reply["value"]}
    assert {site: one["answers"] for site, one in told.items()} == {
        "a": True,
        "b": True,
        "c": False,
    }
    sizes = {}
    for sender, to, frame in sites.frames:
        sizes[sender, to] = sizes.get((sender, to), 0) + len(frame)
    assert told["b"]["received"] == sizes["b", "a"]
    assert "received" not in told["a"]
    assert told["b"]["sent"] == sizes["a", "b"]


def test_a_reply_tells_the_bytes_each_site_sent():
    sites = Sites()
    sites.ask(**create("u"), sites="*")
    reply = sites.ask(op="estimate", uid="u", query={"type": "total"}, sites="*", time=T0 + 1)
    sizes = {n: len(f) for n, to, f in sites.frames[-2:] if to == "a"}
    assert {s: reply["sites"][s]["bytes"] for s in ("b", "c")} == sizes
