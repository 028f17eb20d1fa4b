"""Answers of watches as server-sent events."""

import json
import threading
from contextlib import contextmanager

import pytest

from service.gateway import events, hub
from service.gateway.replay import Heard, Position, Tail, missed
from tests.service.gateway.conftest import wait_until
from tests.service.gateway.test_asking import problem

ONE = "/v1/watches/w/events"


@pytest.fixture
def watched(served):
    served.create()
    served.watch("w")
    return served


@contextmanager
def following(served, path=ONE, **headers):
    """The events of a stream, one by one, as mappings of their fields."""

    def read(lines):
        found = {}
        for line in lines:
            if line:
                name, _, value = line.partition(": ")
                found[name] = value
            elif found:
                yield found
                found = {}

    with served.http.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"] == "text/event-stream"
        yield read(response.iter_lines())


def answers(found):
    for event in found:
        if "data" in event and "event" not in event:
            yield event["id"], json.loads(event["data"])


def test_answers_come_as_events_with_their_numbers(watched):
    with following(watched) as found:
        watched.engine.send("Forex", [("EURUSD", {"trader": "ann"})])
        told = answers(found)
        for second in (1, 2):
            watched.tick(1000 * second)
            event_id, answer = next(told)
            assert event_id == str(answer["number"])
            assert (answer["value"], answer["request"]) == (1.0, "w")
            assert "op" not in answer
    wait_until(lambda: watched.door.hub.followers == 0)


def test_the_events_are_what_the_client_library_hears(watched):
    heard = [each.reply for each in watched.transport.heard]
    with following(watched) as found:
        watched.tick(1000)
        _, answer = next(answers(found))
        heard = watched.transport.heard[-1].reply
    assert {"op": "watch", **answer} == heard


def test_the_end_of_a_watch_ends_its_events(watched):
    with following(watched) as found:
        next(found)
        watched.http.delete("/v1/synopses/trades")
        *_, last = found
    assert last["event"] == "end"
    assert json.loads(last["data"])["request"] == "w"


def test_several_readers_have_the_answers_of_one_watch(watched):
    with following(watched) as one, following(watched) as other:
        watched.tick(1000)
        assert next(answers(one)) == next(answers(other))


def test_one_stream_has_the_answers_of_several_watches(watched):
    watched.watch("v")
    with following(watched, "/v1/events?watch=v&watch=w") as found:
        watched.tick(1000)
        told = answers(found)
        ids = {next(told)[0], next(told)[0]}
        assert {each.partition(":")[0] for each in ids} == {"v", "w"}


def test_a_reader_goes_on_after_the_last_event_it_had(watched):
    with following(watched) as found:
        watched.tick(1000)
        first, _ = next(answers(found))
    for second in (2, 3):
        watched.tick(1000 * second)
    with following(watched, **{"Last-Event-ID": first}) as found:
        told = answers(found)
        numbers = [int(next(told)[0]) for _ in range(2)]
        watched.tick(4000)
        numbers.append(int(next(told)[0]))
    assert int(first) < numbers[0] < numbers[1] < numbers[2]


def test_a_reader_who_was_away_when_the_watch_ended_is_told(watched):
    watched.tick(1000)
    watched.http.delete("/v1/watches/w")
    with following(watched, **{"Last-Event-ID": "0"}) as found:
        *_, answer, end = found
    assert ("data" in answer, end["event"]) == (True, "end")


def test_answers_that_may_be_lost_are_told_as_a_gap(watched):
    watched.tick(1000)
    del watched.transport.heard[:]
    with following(watched, **{"Last-Event-ID": "1"}) as found:
        next(found)
        gap = next(found)
    assert gap["event"] == "gap"
    assert json.loads(gap["data"]) == {"watch": "w", "number": 1}


@pytest.mark.parametrize("path", ["/v1/watches/nobody/events", "/v1/events?watch=w&watch=nobody"])
def test_an_unknown_watch_has_no_events(watched, path):
    for headers in ({}, {"Last-Event-ID": "w:1" if "?" in path else "1"}):
        refused = watched.http.get(path, headers=headers)
        assert (refused.status_code, problem(refused)["code"]) == (404, "unknown_watch")
    assert watched.door.hub.followers == 0


def test_a_watch_is_found_among_many_with_like_ids(watched):
    for number in range(12):
        watched.watch(f"w{number}")
    with following(watched, "/v1/watches/w11/events") as found:
        next(found)
    assert watched.http.get("/v1/watches/w12/events").status_code == 404


@pytest.mark.parametrize("said", ["nonsense", "-1", "other:1"])
def test_an_event_id_that_is_none_is_refused(watched, said):
    assert watched.http.get(ONE, headers={"Last-Event-ID": said}).status_code == 422
    path = "/v1/events?watch=w&watch=v"
    assert watched.http.get(path, headers={"Last-Event-ID": said}).status_code == 422


def test_a_stream_is_about_one_watch_at_least_and_not_too_many(watched):
    for path in (
        "/v1/events",
        "/v1/events?watch=",
        "/v1/events?" + "&".join(f"watch={n}" for n in range(101)),
    ):
        assert watched.http.get(path).status_code == 422


def test_a_quiet_stream_has_heartbeats(watched, monkeypatch):
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.05)
    with watched.http.stream("GET", ONE) as response:
        lines = response.iter_lines()
        assert [next(lines) for _ in range(5)][3:] == [": still here", ""]


def test_open_streams_are_limited(serve):
    served = serve(event_streams=1)
    served.create()
    served.watch("w")
    with following(served) as found:
        next(found)
        refused = served.http.get(ONE)
        assert (refused.status_code, problem(refused)["code"]) == (503, "busy")
    wait_until(lambda: served.door.hub.followers == 0)
    with following(served) as found:
        next(found)


def test_a_reader_who_is_too_slow_is_told_of_the_gap(watched, monkeypatch):
    monkeypatch.setattr(hub, "MOST_UNREAD", 1)
    with following(watched) as found:
        next(found)
        replies = [{"request": "w", "number": n, "value": n} for n in (7, 8, 9)]
        loop = watched.door.hub._loop
        done = threading.Event()

        def deliver():
            for reply in replies:
                watched.door.hub._deliver(reply)
            done.set()

        loop.call_soon_threadsafe(deliver)
        assert done.wait(10)
        gap, answer = next(found), next(found)
    assert (gap["event"], answer["id"]) == ("gap", "9")


def test_streams_end_with_the_gateway(watched):
    with following(watched) as found:
        next(found)
        watched.server.should_exit = True
        assert all("event" not in each for each in found)


def answer(watch, number):
    return {"request": watch, "number": number}


def test_what_was_missed_is_what_came_after_the_last_answer():
    began = {"request": "w", "status": "ok"}
    heard = [began, answer("w", 1), answer("v", 4), answer("w", 2), answer("v", 5), answer("w", 4)]
    tail = Tail([Heard(time, reply) for time, reply in enumerate(heard)], True)
    assert missed(tail, Position("w", 0)) == (heard[1:], True)
    assert missed(tail, Position("w", 2)) == ([answer("v", 5), answer("w", 4)], True)
    assert missed(tail, Position("w", 3)) == ([answer("v", 5), answer("w", 4)], True)
    assert missed(Tail(tail.heard[3:], True), Position("w", 1))[1] is False
    assert missed(Tail(tail.heard, False), Position("w", 1))[1] is False
