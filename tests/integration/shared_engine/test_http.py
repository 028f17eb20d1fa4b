"""HTTP beside a real engine: `sde serve --http`, its topics behind it."""

import json
import time

import httpx
import pytest

pytestmark = pytest.mark.integration
SECONDS = 120.0


@pytest.fixture
def http(engine):
    with httpx.Client(base_url=engine.http, timeout=SECONDS) as client:
        yield client


def events(http, watch, count, last_id=None):
    """Ids and values of the next answers of a watch."""
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    found = []
    with http.stream("GET", f"/v1/watches/{watch}/events", headers=headers) as response:
        assert response.status_code == 200
        number = None
        for line in response.iter_lines():
            name, _, text = line.partition(": ")
            assert (name, text) != ("event", "gap")
            if name == "id":
                number = text
            elif name == "data":
                found.append((number, json.loads(text)["value"]))
            if len(found) == count:
                return found
    raise AssertionError(f"the stream ended after {found}")


def test_a_synopsis_lives_and_answers_over_http(http, engine):
    path = "/v1/synopses/http-trades"
    definition = {"dataset": "Http", "kind": "count_min", "key": "trader"}
    assert http.get("/readyz").status_code == 200
    assert [http.put(path, json=definition).status_code for _ in range(2)] == [201, 200]
    other = http.put(path, json={**definition, "key": "stock"})
    assert (other.status_code, other.json()["code"]) == (409, "synopsis_exists")
    lines = "".join(f'{{"stream": "s{n % 3}", "trader": "t{n % 5}"}}\n' for n in range(1000))
    sent = http.post(
        "/v1/datasets/Http/tuples", content=lines, headers={"Content-Type": "application/x-ndjson"}
    )
    assert (sent.status_code, sent.json()) == (200, {"tuples": 1000})
    answer = http.post(f"{path}/estimate", json={"query": {"key": "t1"}}).json()
    assert answer["value"] == 200
    with engine.client() as sde:
        assert sde.estimate("http-trades", key="t1").value == answer["value"]
    assert http.delete(path).status_code == 200
    assert http.get(path).status_code == 404


def test_events_of_a_watch_are_resumed_from_the_output_topic(http):
    definition = {"dataset": "HttpWatch", "kind": "count_min", "key": "k"}
    assert http.put("/v1/synopses/http-watched", json=definition).status_code == 201
    begun = http.post(
        "/v1/synopses/http-watched/watches",
        json={"query": {"key": "a"}, "every": "1s"},
        headers={"Idempotency-Key": "http-watch"},
    )
    assert begun.status_code == 201
    first = events(http, "http-watch", 2)
    time.sleep(3)  # answers that nobody reads
    numbers = [int(number) for number, _ in first]
    resumed = events(http, "http-watch", 3, last_id=first[-1][0])
    assert [int(number) for number, _ in resumed] == [numbers[-1] + n for n in (1, 2, 3)]
    assert http.delete("/v1/watches/http-watch").status_code == 200
    assert http.delete("/v1/synopses/http-watched").status_code == 200
