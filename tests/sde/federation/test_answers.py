"""Three sites answer as one engine that was fed with everything."""

import base64

import numpy as np
import pytest
from exchanging import make, rows
from sites import SITES, T0, Sites, peers_of
from wire_messages import create, tuples

from sde.federation.frames import CONTRIBUTION
from sde.testing import LocalEngine
from synopses import KINDS

T_IN = T0 + 100_000
MERGEABLE = sorted(kind for kind in KINDS if KINDS[kind].mergeable)


def made(*requests, **fields):
    """Three sites and one engine with the same synopses, fed with the same tuples."""
    sites, alone = Sites(), LocalEngine()
    for request in requests:
        reply = sites.ask(**request, sites="*")
        assert reply["status"] == "ok", reply
        assert alone.ask(**request)["status"] == "ok"
    for number, site in enumerate(SITES):
        data = rows(number, count=120, start=0)
        sites[site].replies(data=data, time=T_IN)
        alone.replies(data=data, partition=number, time=T_IN)
    sites.settle()
    alone.settle()
    return sites, alone


def answer(engine, **request):
    found = engine.replies([{"id": "q", **request}])
    (reply,) = found or engine.settle()
    return reply


def same(reply, expected):
    names = ("value", "lower", "upper", "confidence", "tuples", "kind", "dataset", "window")
    assert reply["status"] == "ok", reply
    assert {n: reply.get(n) for n in names} == {n: expected.get(n) for n in names}


# What a sample keeps is chosen by where its records stand: at several sites they stand elsewhere.
@pytest.mark.parametrize("kind", [k for k in MERGEABLE if KINDS[k].order_free and k != "sample"])
def test_kinds_that_do_not_mind_order_answer_as_if_all_tuples_were_at_one_site(kind):
    sites, alone = made(make("u", kind), make("v", kind))
    for name, question in KINDS[kind].questions.items():
        if question.across:
            continue
        target = {"uids": ["u", "v"]} if question.others else {"uid": "u"}
        request = {"op": "estimate", **target, "query": KINDS[kind].example_query(name)}
        from_all, expected = sites.ask(**request, sites="*"), answer(alone, **request)
        same(from_all, expected)
        assert from_all["digest"] == expected["digest"]


@pytest.mark.parametrize("kind", [k for k in MERGEABLE if not KINDS[k].order_free])
def test_other_mergeable_kinds_answer_within_bounds_about_all_tuples(kind):
    sites, alone = made(make("u", kind))
    query = KINDS[kind].example_query(next(iter(KINDS[kind].questions)))
    reply = sites.ask(op="estimate", uid="u", query=query, sites="*")
    expected = answer(alone, op="estimate", uid="u", query=query)
    assert reply["status"] == "ok", reply
    assert reply["tuples"] == expected["tuples"] == 360
    assert reply["complete"] is True


def test_a_sample_of_several_sites_has_different_records_of_each():
    sites, _ = made({**make("u", "sample"), "params": {"k": 360}})
    reply = sites.ask(op="estimate", uid="u", query={"type": "sample"}, sites="*")
    assert len(reply["value"]) == reply["tuples"] == 360


@pytest.mark.parametrize("kind", ["dft", "lsh"])
def test_pairs_are_found_across_sites(kind):
    sites, alone = Sites(), LocalEngine()
    params = {"window": 32, "basic_window": 8} | ({"bits": 64} if kind == "lsh" else {})
    request = create("u", kind, None, value="v", scope="stream", params=params)
    assert sites.ask(**request, sites="*")["status"] == "ok"
    alone.ask(**request)
    rng = np.random.default_rng(5)
    walk = np.cumsum(rng.normal(size=40))
    for number, site in enumerate(SITES):
        data = [
            {"dataset": "d", "stream": f"{site}{n}", "time": T0 + 1000 * t, "values": {"v": v}}
            for n in range(4)
            for t, v in enumerate((walk if n == 0 else np.cumsum(rng.normal(size=40))).tolist())
        ]
        sites[site].replies(data=data, time=T_IN)
        alone.replies(data=data, partition=number, time=T_IN)
    query = {"type": "pairs", "threshold": 0.9}
    reply = sites.ask(op="estimate", uid="u", query=query, sites="*")
    expected = answer(alone, op="estimate", uid="u", query=query)
    found = sorted(sorted(pair[:2]) + pair[2:] for pair in reply["value"])
    assert found == sorted(sorted(pair[:2]) + pair[2:] for pair in expected["value"])
    assert {"a0", "b0"} in [set(pair[:2]) for pair in reply["value"]]
    assert reply["tuples"] == expected["tuples"] == 480


def test_a_stream_that_two_sites_have_is_two_streams_in_pairs():
    sites = Sites()
    params = {"window": 32, "basic_window": 8}
    sites.ask(**create("u", "dft", None, value="v", scope="stream", params=params), sites="*")
    walk = np.cumsum(np.random.default_rng(5).normal(size=40)).tolist()
    data = [
        {"dataset": "d", "stream": "s", "time": T0 + 1000 * t, "values": {"v": v}}
        for t, v in enumerate(walk)
    ]
    for site in ("a", "b"):
        sites[site].replies(data=data, time=T_IN)
    reply = sites.ask(op="estimate", uid="u", query={"type": "pairs", "threshold": 0.9}, sites="*")
    assert [sorted(pair[:2]) for pair in reply["value"]] == [["s", "s@b"]]


def test_a_kind_that_does_not_merge_answers_if_one_site_has_the_stream():
    sites = Sites()
    params = {"k": 3, "window": 10}
    sites.ask(**create("u", "chain_sample", "k", scope="stream", params=params), sites="*")
    sites["b"].replies(data=tuples("d", [("s", {"k": "x"})] * 5))
    asked = {"op": "estimate", "uid": "u", "stream": "s", "sites": "*"}
    assert sites.ask(**asked)["tuples"] == 5
    sites["c"].replies(data=tuples("d", [("s", {"k": "x"})] * 5))
    assert sites.ask(**asked)["code"] == "not_mergeable"


@pytest.mark.parametrize("scope", ["dataset", "stream"])
@pytest.mark.parametrize(
    "window",
    [
        {"type": "tumbling", "size": "10s", "keep": "1h"},
        {"type": "sliding", "size": "20s", "slide": "5s", "keep": "1h"},
    ],
)
def test_sites_that_have_different_windows_open_answer_for_the_latest(window, scope):
    sites, alone = Sites(), LocalEngine()
    request = create("u", "count_min", scope=scope, window=window)
    sites.ask(**request, sites="*")
    alone.ask(**request)
    for number, site in enumerate(SITES):
        data = [
            {"dataset": "d", "stream": "s", "time": T0 + number * 7000 + t, "values": {"k": "x"}}
            for t in range(0, 3000, 100)
        ]
        sites[site].replies(data=data, time=T_IN)
        alone.replies(data=data, partition=number, time=T_IN)
    sites.settle()
    alone.settle()
    asked = {"op": "estimate", "uid": "u", "query": {"key": "x"}}
    asked |= {"stream": "s"} if scope == "stream" else {}
    same(sites.ask(**asked, sites="*"), answer(alone, **asked))


def test_sessions_of_a_data_set_span_sites():
    sites, alone = Sites(), LocalEngine()
    request = create("u", "count_min", window={"type": "session", "gap": "3s", "keep": "30m"})
    sites.ask(**request, sites="*")
    alone.ask(**request)
    for number, site in enumerate(SITES):
        data = [{"dataset": "d", "stream": "s", "time": T0 + number * 2000, "values": {"k": "x"}}]
        sites[site].replies(data=data, time=T_IN)
        alone.replies(data=data, partition=number, time=T_IN)
    sites.settle()
    alone.settle()
    asked = {"op": "estimate", "uid": "u", "query": {"type": "total"}}
    reply = sites.ask(**asked, sites="*")
    same(reply, answer(alone, **asked))
    assert reply["tuples"] == 3


def test_the_states_that_travel_are_those_of_one_engine_to_the_byte():
    """Merged from the three contributions, the state is the one that export gives of all."""
    sites, alone = made(make("u", "hyperloglog"), make("w", "count_min"))
    for uid, kind in (("u", "hyperloglog"), ("w", "count_min")):
        sites.frames.clear()
        sites.ask(
            "a",
            op="estimate",
            uid=uid,
            query=KINDS[kind].example_query(next(iter(KINDS[kind].questions))),
            sites=["b", "c"],
        )
        states = [
            KINDS[kind].from_bytes(peers_of("a").unseal(frame)[1].parts[0])
            for _, to, frame in sites.frames
            if to == "a" and frame.startswith(CONTRIBUTION)
        ]
        own = base64.b64decode(answer(sites["a"], op="export", uid=uid)["value"])
        merged = KINDS[kind].from_bytes(own)
        for state in states:
            merged.merge(state)
        expected = base64.b64decode(answer(alone, op="export", uid=uid)["value"])
        assert merged.to_bytes() == expected


def test_the_site_that_asks_need_not_have_the_synopsis():
    sites = Sites()
    sites.ask(**create("u"), sites=["b", "c"])
    sites["b"].replies(data=tuples("d", [("s", {"k": "x"})] * 5))
    reply = sites.ask(op="estimate", uid="u", query={"key": "x"}, sites=["b", "c"])
    assert (reply["value"], reply["complete"]) == (5, True)
    assert reply["sites"].keys() == {"b", "c"}
    assert sites.ask(op="describe", uid="u")["code"] == "unknown_synopsis"


def test_every_site_may_be_the_one_that_is_asked():
    sites = Sites()
    sites.ask("b", **create("u"), sites="*")
    for number, site in enumerate(SITES, 1):
        sites[site].replies(data=tuples("d", [("s", {"k": "x"})] * number))
    for site in SITES:
        reply = sites.ask(site, op="estimate", uid="u", query={"key": "x"}, sites="*")
        assert (reply["value"], reply["site"]) == (6, site)
        assert {s: told["tuples"] for s, told in reply["sites"].items()} == {"a": 1, "b": 2, "c": 3}
