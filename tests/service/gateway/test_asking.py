"""Requests over HTTP are the requests of the wire, and their replies are the engine's."""

import base64
import hashlib
import typing

import pytest

from sde import wire
from sde.testing import StateLimits
from sde.wire import Code, Request
from sde.wire.catalogue import kinds
from service.gateway.app import HANDLERS
from service.gateway.problems import STATUS_OF
from service.gateway.routes import ROUTES, Handler

ROWS = [("EURUSD", {"trader": "ann"}), ("EURUSD", {"trader": "ann"}), ("GBPUSD", {"trader": "bob"})]
PROBLEM = "application/problem+json"


def problem(reply):
    assert reply.headers["content-type"] == PROBLEM
    members = reply.json()
    assert members["status"] == reply.status_code
    assert {"type", "title", "detail", "code"} <= members.keys()
    return members


def test_every_request_of_the_wire_has_a_route():
    assert {route.asks for route in ROUTES} - {None} == set(typing.get_args(Request))


def test_every_route_has_somebody_who_carries_it_out():
    assert set(HANDLERS) == set(typing.get_args(Handler)) == {route.handler for route in ROUTES}


def test_every_fault_code_has_a_status():
    assert set(STATUS_OF) == set(Code)
    assert all(STATUS_OF[code] == 404 for code in Code if code.startswith("unknown_"))


def test_a_synopsis_is_created_once_and_found_the_second_time(served):
    made = served.create()
    assert made.status_code == 201
    assert (made.json()["uid"], made.json()["kind"]) == ("trades", "count_min")
    assert "op" not in made.json()
    assert served.create().status_code == 200
    other = served.create(params={"epsilon": 0.5})
    assert other.status_code == 409
    assert problem(other)["code"] == "synopsis_exists"
    assert problem(other)["field"] == "uid"


def test_an_answer_is_that_of_the_client_library(served):
    served.create()
    served.engine.send("Forex", ROWS)
    told = served.http.post("/v1/synopses/trades/estimate", json={"query": {"key": "ann"}})
    assert told.status_code == 200
    with served.client() as sde:
        answer = sde.estimate("trades", key="ann")
        described = sde.describe("trades")
    found = told.json()
    assert (found["value"], found["lower"], found["upper"]) == (
        answer.value,
        answer.lower,
        answer.upper,
    )
    assert found["value"] == 2.0
    shown = served.http.get("/v1/synopses/trades").json()["value"]
    assert shown == {name: value for name, value in described.raw.items() if name in shown}
    assert shown["tuples"] == 3


def test_a_deleted_synopsis_is_unknown(served):
    served.create()
    assert served.http.delete("/v1/synopses/trades").status_code == 200
    for reply in (
        served.http.get("/v1/synopses/trades"),
        served.http.delete("/v1/synopses/trades"),
        served.http.post("/v1/synopses/trades/estimate", json={"query": {"key": "a"}}),
    ):
        assert reply.status_code == 404
        assert problem(reply)["code"] == "unknown_synopsis"


def test_synopses_are_listed_in_pages(served):
    for uid in ("a", "b", "c"):
        served.create(uid)
    served.create("other", dataset="Web")
    first = served.http.get("/v1/synopses", params={"limit": 2, "dataset": "Forex"}).json()
    assert [each["uid"] for each in first["value"]] == ["a", "b"]
    query = {"limit": 2, "dataset": "Forex", "after": first["next"]}
    second = served.http.get("/v1/synopses", params=query).json()
    assert [each["uid"] for each in second["value"]] == ["c"]
    assert "next" not in second
    assert len(served.http.get("/v1/synopses").json()["value"]) == 4


def test_streams_of_a_synopsis_are_listed(served):
    served.create(scope="stream")
    served.engine.send("Forex", ROWS)
    rows = served.http.get("/v1/synopses/trades/streams", params={"limit": 1}).json()
    assert [each["stream"] for each in rows["value"]] == ["EURUSD"]
    assert rows["next"] == "EURUSD"


def test_several_questions_are_answered_in_their_order_with_a_status_each(served):
    served.create()
    served.engine.send("Forex", ROWS)
    ask = {"uid": "trades", "query": {"key": "ann"}}
    questions = [ask, {"uid": "nobody"}, {**ask, "fresh": True}, 7, {**ask, "op": "delete"}]
    told = served.http.post("/v1/estimates", json=[*questions, {**ask, "nonsense": 1}])
    assert told.status_code == 200
    assert [each["status"] for each in told.json()] == [200, 404, 200, 422, 422, 422]
    assert told.json()[0]["body"]["value"] == 2.0
    assert told.json()[1]["body"]["code"] == "unknown_synopsis"
    thousand = served.http.post("/v1/estimates", json=[ask] * 1000).json()
    assert {each["body"]["value"] for each in thousand} == {2.0}
    assert served.http.post("/v1/estimates", json=[ask] * 1001).status_code == 422


def test_a_question_about_several_synopses_is_asked_in_a_list_only(served):
    for uid in ("left", "right"):
        served.create(uid, kind="ams")
    served.engine.send("Forex", ROWS)
    ask = {"uids": ["left", "right"], "query": {"type": "join_size"}}
    (told,) = served.http.post("/v1/estimates", json=[ask]).json()
    assert told["body"]["value"] == 5.0
    refused = served.http.post("/v1/synopses/left/estimate", json=ask)
    assert refused.status_code == 422
    assert problem(refused)["field"] == "uids"


def test_a_state_travels_out_and_in(served):
    served.create("from")
    served.create("to")
    served.engine.send("Forex", ROWS)
    out = served.http.get("/v1/synopses/from/state")
    assert out.status_code == 200
    with served.client() as sde:
        assert base64.b64decode(out.json()["value"]) == sde.export("from")
    key = {"Idempotency-Key": "once"}
    for _ in range(2):  # the second changes nothing
        into = served.http.post(
            "/v1/synopses/to/state", json={"state": out.json()["value"]}, headers=key
        )
        assert into.status_code == 200
    told = served.http.post("/v1/synopses/to/estimate", json={"query": {"key": "ann"}}).json()
    assert told["value"] == 4.0
    bad = served.http.post("/v1/synopses/to/state", json={"state": "AAAA"})
    assert (bad.status_code, problem(bad)["code"]) == (422, "bad_state")


def test_versions_are_kept_listed_restored_and_removed(served):
    served.create()
    served.engine.send("Forex", ROWS)
    kept = served.http.post("/v1/synopses/trades/snapshots", json={"version": "one"})
    assert (kept.status_code, kept.json()["value"]) == (201, "one")
    again = served.http.post("/v1/synopses/trades/snapshots", json={"version": "one"})
    assert (again.status_code, problem(again)["code"]) == (409, "version_exists")
    listed = served.http.get("/v1/synopses/trades/snapshots").json()["value"]
    assert [each["version"] for each in listed] == ["one"]
    assert served.http.get("/v1/snapshots").json()["value"] == listed
    body = {"version": "one", "as": "copy"}
    assert served.http.post("/v1/synopses/trades/restore", json=body).status_code == 200
    told = served.http.post("/v1/synopses/copy/estimate", json={"query": {"key": "ann"}})
    assert told.json()["value"] == 2.0
    path = "/v1/synopses/trades/snapshots/one"
    assert served.http.delete(path).status_code == 200
    assert problem(served.http.delete(path))["code"] == "unknown_version"


def test_watches_are_begun_listed_and_ended(served):
    served.create()
    begun = served.watch("w-1")
    assert (begun.status_code, begun.json()["watch"]) == (201, "w-1")
    several = {"uids": ["trades"], "query": {"key": "bob"}, "on": "change"}
    other = served.http.post("/v1/watches", json=several)
    assert other.status_code == 201
    listed = served.http.get("/v1/watches", params={"uid": "trades"}).json()["value"]
    assert {each["watch"] for each in listed} == {"w-1", other.json()["watch"]}
    assert served.http.delete("/v1/watches/w-1").status_code == 200
    assert problem(served.http.delete("/v1/watches/w-1"))["code"] == "unknown_watch"


SOURCE = '''
from synopses import Estimate, Synopsis, question


class Tally(Synopsis):
    """Counts tuples."""
'''


def test_a_plug_in_that_cannot_be_used_is_refused_and_none_is_there(served):
    body = {"source": SOURCE, "sha256": hashlib.sha256(SOURCE.encode()).hexdigest()}
    assert served.http.put("/v1/plugins/tally", json=body).status_code in (422, 500)
    assert served.http.get("/v1/plugins").json()["value"] == []
    for reply in (
        served.http.delete("/v1/plugins/tally", params={"version": 1}),
        served.http.post("/v1/plugins/tally/release", json={"version": 1}),
    ):
        assert (reply.status_code, problem(reply)["code"]) == (404, "unknown_plugin")


def test_the_kinds_are_those_of_the_catalogue(served):
    told = served.http.get("/v1/kinds").json()["value"]
    assert [each["kind"] for each in told] == list(kinds())


def test_sites_are_listed(served):
    assert [each["site"] for each in served.http.get("/v1/sites").json()["value"]] == ["here"]


def test_sources_are_made_shown_previewed_and_removed(served):
    body = {"topic": "ticks", "dataset": "Forex", "stream": "symbol"}
    assert served.http.put("/v1/sources/ticks", json=body).status_code == 200
    (listed,) = served.http.get("/v1/sources").json()["value"]
    one = served.http.get("/v1/sources/ticks")
    assert one.json()["value"] == listed
    assert listed["topic"] == "ticks"
    shown = served.http.post("/v1/sources/preview", json=body)
    assert [each["stream"] for each in shown.json()["value"]["tuples"]] == ["EURUSD"]
    assert served.http.delete("/v1/sources/ticks").status_code == 200
    for gone in (served.http.get("/v1/sources/ticks"), served.http.delete("/v1/sources/ticks")):
        assert (gone.status_code, problem(gone)["code"]) == (404, "unknown_source")


def test_a_repeated_key_has_the_outcome_of_the_first(served):
    key = {"Idempotency-Key": "create-trades"}
    body = {"dataset": "Forex", "kind": "count_min", "key": "trader"}
    first = served.http.put("/v1/synopses/trades", json=body, headers=key)
    served.http.delete("/v1/synopses/trades")
    again = served.http.put("/v1/synopses/trades", json=body, headers=key)
    assert first.json()["request"] == again.json()["request"] == "create-trades"
    assert served.http.get("/v1/synopses/trades").status_code == 404  # it was not made again
    long = served.http.put("/v1/synopses/u", json=body, headers={"Idempotency-Key": "x" * 513})
    assert (long.status_code, problem(long)["field"]) == (422, "id")


def test_the_key_of_a_request_may_be_any_text(served):
    served.create()
    body = {"query": {"key": "ann"}, "every": "1s"}
    path, key = "/v1/synopses/trades/watches", "wächter/1"
    begun = served.http.post(path, json=body, headers={"Idempotency-Key": key.encode()})
    assert begun.json()["watch"] == key
    assert served.http.delete("/v1/watches/w%C3%A4chter%2F1").status_code == 200
    broken = served.http.post(path, json=body, headers={"Idempotency-Key": b"\xff"})
    assert (broken.status_code, problem(broken)["code"]) == (400, "bad_encoding")


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"dataset": "d"}, "bad_request", "kind"),
        ({"dataset": "d", "kind": "count_min", "keys": "k"}, "bad_request", "keys"),
        ({"dataset": "d", "kind": "count_min", "key": 7}, "bad_request", "key"),
        ({"dataset": "d", "kind": "count_min", "key": "k", "uid": "v"}, "bad_request", "uid"),
        ({"dataset": "d", "kind": "count_min", "key": "k", "op": "x"}, "bad_request", "op"),
        ({"dataset": "d", "kind": "count_min", "key": "k", "id": "x"}, "bad_request", "id"),
        (
            {"dataset": "d", "kind": "count_min", "key": "k", "params": {"epsilon": 7}},
            "bad_parameter",
            "params.epsilon",
        ),
    ],
)
def test_a_wrong_field_is_named(served, body, code, field):
    refused = served.http.put("/v1/synopses/u", json=body)
    assert refused.status_code == 422
    assert (problem(refused)["code"], problem(refused)["field"]) == (code, field)


def test_a_limit_of_the_engine_has_a_status_of_its_own(serve):
    served = serve(limits=StateLimits(max_synopses=1))
    assert served.create("a").status_code == 201
    refused = served.create("b")
    assert (refused.status_code, problem(refused)["code"]) == (507, "limit_exceeded")


def test_a_kind_that_cannot_serve_a_scope_is_refused(served):
    refused = served.create(kind="dft", key=None, value="price")
    assert (refused.status_code, problem(refused)["code"]) == (422, "not_mergeable")


def test_an_unknown_kind_and_a_wrong_question_are_refused(served):
    assert served.create(kind="count_mon").status_code == 404
    served.create()
    wrong = served.http.post("/v1/synopses/trades/estimate", json={"query": {"type": "mean"}})
    assert (wrong.status_code, problem(wrong)["code"]) == (422, "bad_query")


def test_a_field_that_is_wrong_by_itself_never_reaches_the_engine(served):
    before = len(served.transport.requests)
    assert served.http.get("/v1/synopses", params={"limit": "many"}).status_code == 422
    assert served.http.get("/v1/synopses", params={"limit": 0}).status_code == 422
    assert served.http.get("/v1/synopses", params={"nonsense": 1}).status_code == 422
    assert len(served.transport.requests) == before


def test_a_silent_engine_is_told_in_time_and_why_is_for_the_log(serve, monkeypatch, caplog):
    served = serve(answer_seconds=0.2)
    served.transport.silent = True
    monkeypatch.setattr(served.transport, "trouble", lambda: "the engine (pid 7) is gone")
    late = served.http.get("/v1/synopses/trades", headers={"Idempotency-Key": "mine"})
    assert (late.status_code, problem(late)["code"]) == (504, "no_answer")
    assert problem(late)["request"] == "mine"
    assert "pid" not in late.text
    assert "pid 7" in caplog.text
    served.transport.silent = False
    assert served.http.get("/v1/synopses/trades").status_code == 404


class Known:
    """A lane that knows estimates; it keeps what it was asked."""

    def __init__(self):
        self.asked = []

    async def reply(self, message, seconds, at_least):
        self.asked.append((message["op"], at_least))
        if message["op"] != wire.Ask.__struct_config__.tag:
            return None
        return {"status": "ok", "request": message["id"], "op": message["op"], "value": 42}

    async def close(self):
        self.asked.append("closed")


def test_a_lane_answers_before_kafka_unless_the_answer_must_be_fresh(serve):
    lane = Known()
    served = serve(lane=lane)
    served.create()
    path, body = "/v1/synopses/trades/estimate", {"query": {"key": "ann"}}
    assert served.http.post(path, json=body).json()["value"] == 42
    assert served.http.post(path, json={**body, "fresh": True}).json()["value"] == 0.0
    assert [op for op, _ in lane.asked].count("estimate") == 1
    assert "fresh" not in str(served.transport.requests)
    assert served.http.post(path, json={**body, "fresh": "yes"}).status_code == 422
