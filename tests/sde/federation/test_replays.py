"""Frames that somebody wrote down and sends again, byte for byte."""

import pytest
from sites import T0, Sites, engine_of, opened, peers_of
from watched import content
from wire_messages import create, tuples

from sde.federation.frames import CONTRIBUTION, REQUEST, Content
from sde.federation.request import OLDEST
from sde.records.sites import PeerRequest

TOTAL = {"op": "estimate", "uid": "u", "query": {"type": "total"}, "sites": "*"}
NAMES = ("a", "b")


@pytest.fixture
def sites():
    made = Sites(NAMES, (1, 1))
    made.ask(**create("u"), sites="*")
    made["b"].replies(data=tuples("d", [("s", {"k": "x"})] * 5))
    assert made.ask(**TOTAL)["value"] == 5
    return made


def frames(sites, to, magic):
    return [f for _, receiver, f in sites.frames if receiver == to and f.startswith(magic)]


def refused(sites, at, of):
    return next(one for one in sites.ask(at, op="sites")["value"] if one["site"] == of)["refused"]


def test_an_old_contribution_is_not_merged_after_the_site_got_new_topics(sites):
    """The same position in a new topic is another request."""
    old = frames(sites, "a", CONTRIBUTION)
    sites["b"].replies(data=tuples("d", [("s", {"k": "x"})] * 1000))
    sites["a"] = engine_of("a", NAMES, 1)
    sites.ask(**create("u"))
    sites.cut = {"b"}
    assert sites["a"].replies([{"id": "q", **TOTAL}], time=T0) == []
    sites["a"].from_sites += old
    assert sites["a"].settle() == []
    sites.cut = set()
    (reply,) = sites.settle()["a"]
    assert (reply["value"], reply["complete"]) == (1005, True)


def test_requests_at_the_same_position_of_a_topic_that_was_made_anew_are_told_apart(sites):
    """The checkpoint goes on (`on_lost` continue), the topic begins again."""
    old = frames(sites, "a", CONTRIBUTION)
    sites["a"]._offsets["requests", 0] -= 1
    sites.cut = {"b"}
    assert sites["a"].replies([{"id": "q", **TOTAL}], time=T0 + 60_000) == []
    sites["a"].from_sites += old
    assert sites["a"].settle() == []


def test_an_old_request_is_refused_and_counted(sites):
    sites.ask(op="delete", uid="u", sites="*", time=T0 + 1)
    delete = frames(sites, "b", REQUEST)[-1]
    sites["b"] = engine_of("b", NAMES, 1)
    sites.ask("b", **create("u"))
    sites["b"].from_sites.append(delete)
    sites["b"].replies(time=T0 + 2 + OLDEST)
    assert sites.ask("b", op="describe", uid="u")["status"] == "ok"
    assert refused(sites, "b", "a") == 1


def test_a_request_that_waited_a_day_for_a_site_is_carried_out(sites):
    sites.ask(op="delete", uid="u", sites="*", time=T0 + 1)
    delete = frames(sites, "b", REQUEST)[-1]
    sites["b"] = engine_of("b", NAMES, 1)
    sites.ask("b", **create("u"))
    sites["b"].from_sites.append(delete)
    sites["b"].replies(time=T0 + 24 * 3600 * 1000)
    assert sites.ask("b", op="describe", uid="u")["code"] == "unknown_synopsis"


def test_a_request_that_does_not_say_when_it_was_asked_is_refused(sites):
    head = PeerRequest(key="k", request={"id": "q", "op": "delete", "uid": "u"})
    sites["b"].from_sites.append(peers_of("a", NAMES).seal("b", Content(head)))
    sites["b"].replies()
    assert sites.ask("b", op="describe", uid="u")["status"] == "ok"


def test_every_request_says_when_it_was_asked(sites):
    watch = {"op": "watch", "uid": "u", "query": {"type": "total"}, "sites": "*", "every": "1s"}
    sites.ask(**watch, id="w")
    for n in range(1, 4):
        sites["b"].replies(data=tuples("d", [("s", {"k": "x"})]))
        for site in NAMES:
            sites.later(site, 1000 * n)
    sites["a"].replies([{"id": "over", "op": "unwatch", "watch": "w"}], time=T0 + 5000)
    sites.settle()
    heads = [opened(frame, "b").head for frame in frames(sites, "b", REQUEST)]
    assert {head["request"]["op"] for head in heads} > {"watch", "unwatch"}
    assert all(head["time"] >= T0 for head in heads)


def test_a_copy_of_an_old_norm_does_not_set_it_back(sites):
    ams = {"op": "watch", "uid": "f", "query": {"type": "f2"}, "sites": "*", "every": "1s"}
    sites.ask(**create("f", "ams"), sites="*")
    assert sites.ask(**ams, drift=10.0, id="w")["status"] == "ok"
    for n in range(1, 12):
        sites["b"].replies(data=tuples("d", [("s", {"k": f"k{n}"})] * 10 * n))
        for site in NAMES:
            sites.later(site, 1000 * n)
    notes = [f for f in frames(sites, "b", REQUEST) if "norm" in opened(f, "b").head]
    assert len(notes) > 1
    before = content(sites["b"].stores[0])[1]["ledger.facts"]
    sites["b"].from_sites.append(notes[0])
    sites["b"].replies()
    assert content(sites["b"].stores[0])[1]["ledger.facts"] == before
