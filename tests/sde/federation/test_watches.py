"""Watches over sites: what changed travels, the asking site answers on its own ticks."""

from dataclasses import replace

import numpy as np
import pytest
from sites import SITES, T0, Sites, engine_of, opened, peers_of
from watched import content, replayed
from wire_messages import create, tuples

from sde.federation.frames import Content

EVERY = 1000


def watched(kind="count_min", query=None, params=None, value=None, **fields):
    """Three sites with a synopsis, and a watch at site a that has begun."""
    sites = Sites()
    made = sites.ask(**create("u", kind, "k", params=params or {}, value=value), sites="*")
    assert made["status"] == "ok", made
    query = {"type": "total"} if query is None else query
    reply = sites.ask(
        op="watch", uid="u", query=query, every="1s", sites="*", **{"id": "w", **fields}
    )
    assert reply["status"] == "ok", reply
    sites.settle()
    return sites


def feed(sites, site, count, key="x", value=1.0):
    data = tuples("d", [(f"s{n % 7}", {"k": key, "v": value}) for n in range(count)])
    sites[site].replies(data=data, time=T0)


def tick(sites, number, first=("b", "c", "a")):
    """A tick at every site, in an order; what site a says, once all is quiet."""
    said = []
    for site in first:
        if site in sites.cut:
            continue
        sites[site].now = T0 + number * EVERY
        replies = sites[site].tick(T0 + number * EVERY).replies()
        told = sites.settle()
        said += (replies if site == "a" else []) + told["a"]
    return [reply for reply in said if "number" in reply]


def between(sites):
    """Bytes that went between sites since the last call."""
    sent, sites.bytes = sites.bytes, 0
    return sent


def test_a_watch_is_acknowledged_by_the_sites_and_answers_for_all_of_them():
    sites = watched()
    for number, site in enumerate(SITES, 1):
        feed(sites, site, number)
    (reply,) = tick(sites, 1)
    assert (reply["value"], reply["number"], reply["complete"]) == (6, 1, True)
    assert {s: told["tuples"] for s, told in reply["sites"].items()} == {"a": 1, "b": 2, "c": 3}
    (reply,) = tick(sites, 2)
    assert (reply["value"], reply["number"]) == (6, 2)
    assert reply["sites"]["b"]["age"] >= EVERY


def test_a_site_where_nothing_changed_sends_nothing():
    sites = watched()
    for site in SITES:
        feed(sites, site, 5)
    tick(sites, 1)
    between(sites)
    for number in range(2, 6):
        (reply,) = tick(sites, number)
        assert reply["value"] == 15
    assert between(sites) == 0
    feed(sites, "a", 5)
    (reply,) = tick(sites, 6)
    assert (reply["value"], between(sites)) == (20, 0)


@pytest.mark.parametrize("kind", ["count_min", "ams", "histogram", "log_histogram"])
def test_linear_kinds_send_what_changed_and_the_answer_is_the_same(kind):
    query = {"type": {"count_min": "total", "ams": "f2"}.get(kind, "counts")}
    sites = watched(kind, query, value="v")
    rng = np.random.default_rng(1)
    for site in SITES:
        for n in range(300):
            feed(sites, site, 1, key=f"k{n}", value=float(rng.integers(1, 100)))
    tick(sites, 1)
    whole = between(sites)
    for number in range(2, 5):
        feed(sites, "b", 2, key=f"new {number}", value=5.0)
        (reply,) = tick(sites, number)
        asked = sites.ask(op="estimate", uid="u", query=query, sites="*", time=T0 + number * EVERY)
        assert reply["value"] == asked["value"]
        sent = [f for n, to, f in sites.frames if (n, to) == ("b", "a")]
        deltas = [c for c in map(opened, sent) if c.head.get("base")]
        assert len(deltas) == number - 1
    small = min(len(f) for f in sent if opened(f).head.get("base"))
    assert small < whole / 4


@pytest.mark.parametrize("kind", ["count_min", "ams", "histogram", "log_histogram"])
def test_what_a_site_takes_away_is_gone_at_the_site_that_asks(kind):
    query = {"type": {"count_min": "total", "ams": "f2"}.get(kind, "counts")}
    sites = watched(kind, query, value="v")
    source = {"topic": "t", "dataset": "d", "stream": "s", "changes": "debezium"}
    sites["b"].ask(op="source", id="s", name="rows", **source)
    rows = [{"s": f"s{n % 7}", "k": f"k{n}", "v": n + 0.0625} for n in range(20)]
    sites["b"].send_records("rows", [{"op": "c", "after": row} for row in rows])
    feed(sites, "a", 3)
    tick(sites, 1)
    for number, row in enumerate(rows[:3], 2):
        sites["b"].send_records("rows", [{"op": "d", "before": row}])
        (reply,) = tick(sites, number)
        asked = sites.ask(op="estimate", uid="u", query=query, sites="*", time=T0 + number * EVERY)
        assert asked["value"] is not None
        assert reply["value"] == asked["value"]


def test_other_kinds_send_their_state_when_it_changed():
    sites = watched("hyperloglog", {"type": "cardinality"})
    feed(sites, "b", 1, key="one")
    tick(sites, 1)
    feed(sites, "c", 1, key="two")
    (reply,) = tick(sites, 2)
    assert round(reply["value"]) == 2
    feed(sites, "c", 1, key="two")
    between(sites)
    tick(sites, 3)
    assert between(sites) == 0


def test_a_site_that_was_never_heard_of_is_missing_and_comes_in_when_it_is_back():
    sites = Sites()
    sites.ask(**create("u"), sites="*")
    for site in SITES:
        feed(sites, site, 5)
    sites.cut = {"c"}
    assert (
        sites.ask(id="w", op="watch", uid="u", query={"type": "total"}, every="1s", sites="*")
        is None
    )
    said = tick(sites, 1)
    assert (said[-1]["value"], said[-1]["missing"]) == (10, {"c": "no word yet"})
    replies = tick(sites, 6)
    assert any(r["value"] == 10 for r in replies if "value" in r)
    sites.cut = set()
    sites.settle()
    tick(sites, 7)
    (reply,) = tick(sites, 8)
    assert (reply["value"], reply["complete"]) == (15, True)


def test_what_comes_twice_counts_once_and_a_gap_is_closed_by_a_whole_state():
    sites = watched()
    for n in range(100):
        feed(sites, "b", 1, key=f"k{n}")
    for number in range(1, 4):
        feed(sites, "b", 3)
        tick(sites, number)
    whole, *_, last = (f for sender, to, f in sites.frames if opened_is_standing(sender, to, f))
    assert [opened(frame).head.get("base", 0) for frame in (whole, last)] == [0, 2]
    sites["a"].from_sites += [whole, last]
    (reply,) = tick(sites, 4)
    assert reply["value"] == 109
    feed(sites, "b", 3)
    sites["b"].tick(T0 + 5 * EVERY).replies()
    sites["b"].outbound = []  # lost, which Kafka does not do
    feed(sites, "b", 3)
    tick(sites, 6)
    tick(sites, 7)
    (reply,) = tick(sites, 8)
    assert reply["value"] == 115


def test_unwatch_ends_it_at_all_sites_and_nothing_travels_any_more():
    sites = watched()
    feed(sites, "b", 3)
    tick(sites, 1)
    assert sites["a"].replies([{"id": "over", "op": "unwatch", "watch": "w"}])
    said = sites.settle()
    assert said["b"] == said["c"] == []
    feed(sites, "b", 3)
    between(sites)
    assert tick(sites, 2) == []
    assert between(sites) == 0
    assert [engine.due for engine in sites.engines.values()] == [None] * 3
    assert "w" not in str(list(sites["a"].shard(0).beside["ledger"].facts()))


def test_a_site_that_deletes_the_synopsis_is_left_out_with_the_reason():
    sites = watched()
    for site in SITES:
        feed(sites, site, 5)
    tick(sites, 1)
    sites.ask("c", op="delete", uid="u")
    tick(sites, 2)
    (reply,) = tick(sites, 3)
    assert (reply["value"], reply["complete"]) == (10, False)
    assert reply["missing"] == {"c": "its watch has ended"}


def test_a_crash_forgets_neither_what_was_sent_nor_what_is_held():
    sites = watched()
    for number in range(1, 4):
        feed(sites, "b", 3)
        feed(sites, "c", 3)
        tick(sites, number)
    for name in SITES:
        again = replayed(sites[name])
        assert content(again.stores[0]) == content(sites[name].stores[0])


def test_damaged_changes_are_not_added_but_asked_for_again():
    sites = watched()
    feed(sites, "b", 3)
    tick(sites, 1)
    head = next(opened(f).head for n, to, f in sites.frames if opened_is_standing(n, to, f))
    bad = Content({**head, "number": 2, "base": 1}, [b"nonsense"])
    sites["a"].from_sites.append(peers_of("b").seal("a", bad))
    (reply,) = tick(sites, 2)
    assert reply["value"] == 3
    tick(sites, 3)
    feed(sites, "b", 1)
    tick(sites, 4)
    (reply,) = tick(sites, 5)
    assert reply["value"] == 4


def opened_is_standing(sender, to, frame):
    return (sender, to) == ("b", "a") and opened(frame).head.get("standing")


def test_a_site_that_forgot_a_watch_tells_the_others_to_stop():
    sites = watched()
    feed(sites, "b", 3)
    sites["a"] = engine_of("a")  # a new checkpoint
    tick(sites, 1)
    feed(sites, "b", 3)
    between(sites)
    tick(sites, 2)
    assert between(sites) == 0
    assert sites["b"].due is None


def test_a_peer_that_the_settings_name_no_more_disturbs_nobody():
    sites = watched()
    feed(sites, "a", 3)
    alone = replace(sites["a"].wiring, secrets={})
    sites["a"].wiring, sites["a"]._ingest = alone, alone.ingest()
    (reply,) = tick(sites, 1)
    assert (reply["value"], sorted(reply["missing"])) == (3, ["b", "c"])


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"on": "change"}, "on"),
        ({"every": "1s", "when": "> 5"}, "when"),
        ({"every": "1s", "sites": ["b"]}, "sites"),
        ({"every": "1s", "drift": -1}, "drift"),
        ({"every": "1s", "drift": "much"}, "drift"),
    ],
)
def test_what_a_watch_over_sites_cannot_be_is_refused(fields, field):
    sites = Sites()
    sites.ask(**create("u"), sites="*")
    request = {"op": "watch", "uid": "u", "query": {"type": "total"}, "sites": "*", **fields}
    reply = sites.ask(**request)
    assert (reply["status"], reply["field"]) == ("error", field)


def test_drift_of_a_question_it_is_not_known_for_is_refused():
    sites = Sites()
    sites.ask(**create("u"), sites="*")
    reply = sites.ask(op="watch", uid="u", query={"key": "x"}, every="1s", sites="*", drift=5)
    assert (reply["status"], reply["field"]) == ("error", "drift")
    assert "total of count_min" in reply["message"]
