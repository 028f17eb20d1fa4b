"""The read lane of a running engine, over HTTP: what it says is what the engine says."""

import os
import signal
import threading
import time

import httpx
import pytest

from bench.processes import task_workers

pytestmark = pytest.mark.integration
SECONDS = 120.0
OF_THE_LANE = {"as_of", "lag"}


@pytest.fixture
def http(engine):
    with httpx.Client(base_url=engine.http, timeout=SECONDS) as client:
        deadline = time.monotonic() + SECONDS
        probe = {"dataset": "LaneProbe", "kind": "count_min", "key": "k"}
        assert client.put("/v1/synopses/lane-probe", json=probe).is_success
        while not has_lane(client):
            assert time.monotonic() < deadline, "the lane did not begin"
            time.sleep(0.1)
        yield client


def has_lane(client):
    """Whether it has begun: asked of a synopsis that is no plug-in's, as others' may be."""
    return "as_of" in client.get("/v1/synopses/lane-probe").json()


def lines(rows):
    return "".join(f'{{"stream": "{stream}", "k": "{key}"}}\n' for stream, key in rows)


def send(http, dataset, rows):
    """The position of these tuples."""
    headers = {"Content-Type": "application/x-ndjson"}
    path = f"/v1/datasets/{dataset}/tuples"
    sent = http.post(path, content=lines(rows), headers=headers)
    assert (sent.status_code, sent.json()) == (200, {"tuples": len(rows)})
    return sent.headers["Sde-Position"]


def create(http, uid, **fields):
    made = http.put(f"/v1/synopses/{uid}", json={"key": "k", **fields})
    assert made.status_code == 201, made.text
    return made.headers["Sde-Position"]


def total(http, uid, position="", **fields):
    """An answer of the lane; Kafka's has no `as_of`."""
    headers = {"Sde-At-Least": position} if position else {}
    body = {"query": {"type": "total"}, **fields}
    reply = http.post(f"/v1/synopses/{uid}/estimate", json=body, headers=headers)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_the_lane_says_what_the_engine_says(engine, http):
    create(http, "lane-each", dataset="Lane", kind="count_min", scope="stream")
    create(http, "lane-whole", dataset="Lane", kind="hyperloglog")
    position = send(http, "Lane", [(f"s{n % 9}", f"k{n % 31}") for n in range(2000)])
    at_least = {"Sde-At-Least": position}
    each, whole = "/v1/synopses/lane-each", "/v1/synopses/lane-whole"
    with engine.client() as sde:
        for op, fields, found in (
            (
                "estimate",
                {"uid": "lane-each", "stream": "s3", "query": {"key": "k5"}},
                lambda body: http.post(f"{each}/estimate", json=body, headers=at_least),
            ),
            (
                "estimate",
                {"uid": "lane-whole", "query": {}},
                lambda body: http.post(f"{whole}/estimate", json=body, headers=at_least),
            ),
            ("describe", {"uid": "lane-whole"}, lambda _: http.get(whole, headers=at_least)),
            ("streams", {"uid": "lane-each"}, lambda _: http.get(f"{each}/streams")),
            ("list", {"dataset": "Lane"}, lambda _: http.get("/v1/synopses?dataset=Lane")),
            ("export", {"uid": "lane-whole"}, lambda _: http.get(f"{whole}/state")),
        ):
            expected = sde.submit(op, **fields).result()
            said = found(fields).json()
            assert said.keys() >= OF_THE_LANE
            left_out = {"id", "request", "batch", "op", *OF_THE_LANE}
            assert {k: v for k, v in said.items() if k not in left_out} == {
                k: v for k, v in expected.items() if k not in left_out
            }
    several = [{"uid": "lane-each", "stream": f"s{n}", "query": {"key": "k5"}} for n in range(9)]
    answers = http.post("/v1/estimates", json=several, headers=at_least).json()
    assert sum(each["body"]["value"] for each in answers) == sum(n % 31 == 5 for n in range(2000))
    fresh = total(http, "lane-each", stream="s3", fresh=True)
    assert not fresh.keys() & OF_THE_LANE


def test_whoever_wrote_sees_it_and_the_answer_says_as_of_when(http):
    before = 1000 * time.time()
    position = create(http, "lane-mine", dataset="LaneMine", kind="count_min")
    answer = {}
    for n in range(1, 6):
        position = send(http, "LaneMine", [(f"s{m}", "a") for m in range(20)])
        answer = total(http, "lane-mine", position)
        assert answer["value"] == 20 * n
        assert answer.keys() >= OF_THE_LANE
    assert before < answer["as_of"] < 1000 * time.time()
    gone = http.delete("/v1/synopses/lane-mine").headers["Sde-Position"]
    found = http.get("/v1/synopses/lane-mine", headers={"Sde-At-Least": gone})
    assert (found.status_code, found.json()["code"]) == (404, "unknown_synopsis")


def test_a_position_of_nowhere_is_answered_by_the_engine_itself(http):
    create(http, "lane-nowhere", dataset="LaneNowhere", kind="count_min")
    for position in (f"batch={10**9}", f"sde-data:0={10**15}"):
        answer = total(http, "lane-nowhere", position)
        assert answer["value"] == 0
        assert "as_of" not in answer


def test_no_answer_shows_half_of_a_batch_also_while_workers_are_killed(engine, http):
    """Two synopses of the same tuples, one of them spread over streams, have the same number; and
    what was written before is in it."""
    whole, each = "half-whole", "half-each"
    create(http, whole, dataset="Half", kind="count_min")
    create(http, each, dataset="Half", kind="count_min", scope="stream")
    stop = threading.Event()
    rows = [(f"s{n % 50}", f"k{n % 7}") for n in range(5000)]
    sent = [("", 0)]  # positions, and how many tuples by then

    def keep_sending():
        with httpx.Client(base_url=engine.http, timeout=SECONDS) as own:
            while not stop.is_set():
                sent.append((send(own, "Half", rows), sent[-1][1] + len(rows)))

    sending = threading.Thread(target=keep_sending)
    sending.start()
    seen, killed, deadline = [], 0, time.monotonic() + 300
    try:
        while (len(set(seen)) < 12 or killed < 2) and time.monotonic() < deadline:
            position, count = sent[-1] if len(seen) % 3 == 0 else ("", 0)
            listed = http.get(
                "/v1/synopses?dataset=Half", headers={"Sde-At-Least": position} if position else {}
            ).json()
            told = {one["uid"]: one["tuples"] for one in listed["value"]}
            assert told[whole] == told[each]
            assert told[whole] >= count or "as_of" not in listed
            seen.append(told[whole])
            if len(set(seen)) in (4, 8) and killed < len(set(seen)) // 4:
                os.kill(task_workers(engine.process.pid)[0], signal.SIGKILL)
                killed += 1
    finally:
        stop.set()
        sending.join()
    assert len(set(seen)) >= 12
    assert killed == 2
    assert seen == sorted(seen)
    position, count = sent[-1]
    assert total(http, whole, position)["value"] == count
