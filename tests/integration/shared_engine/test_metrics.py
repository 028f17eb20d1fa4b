"""`/metrics` of a real engine says what was sent to it."""

import json
import time

import httpx
import pytest
from confluent_kafka import Producer
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.integration
SECONDS = 60.0
WAITING = 0.3  # between two scrapes


@pytest.fixture
def http(engine):
    with httpx.Client(base_url=engine.http, timeout=SECONDS) as client:
        wait_until(lambda: is_served(client))
        yield client


def is_served(client):
    """The gateway starts when the engine is ready."""
    try:
        return client.get("/readyz").status_code == 200
    except httpx.ConnectError:
        return False


def wait_until(condition):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(WAITING)


def send(engine, *payloads):
    """Messages of the data topic, as they are."""
    producer = Producer({"bootstrap.servers": engine.process.bootstrap_servers})
    for payload in payloads:
        producer.produce("sde-data", payload)
    assert producer.flush(SECONDS) == 0


def scrape(http):
    """The value of every time series, by its name and labels."""
    response = http.get("/metrics")
    assert response.status_code == 200
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


class Since:
    """What has changed since it was made."""

    def __init__(self, http):
        self._http, self._before = http, scrape(http)

    def wait_for(self, expected):
        """Until the counters have grown by so much: batches are told of a moment later."""
        grown, now = {}, {}

        def have_grown():
            now.clear()
            now.update(scrape(self._http))
            grown.update((key, now.get(key, 0) - self._before.get(key, 0)) for key in expected)
            return grown == expected

        wait_until(have_grown)
        return now


def test_a_scrape_says_what_was_sent(http, engine):
    since = Since(http)
    path = "/v1/synopses/metrics-trades"
    definition = {"dataset": "Metrics", "kind": "count_min", "key": "trader", "scope": "stream"}
    assert http.put(path, json=definition).status_code == 201
    lines = "".join(f'{{"stream": "s{n % 7}", "trader": "t{n % 5}"}}\n' for n in range(1000))
    lines += '{"stream": "s0"}\n'  # without the key
    sent = http.post(
        "/v1/datasets/Metrics/tuples",
        content=lines,
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert sent.json() == {"tuples": 1001}
    bad = [b"\xff\xfe", b"{", json.dumps({"dataset": "Metrics", "stream": ""}).encode()]
    send(engine, *bad)
    question = {"query": {"key": "t1"}, "stream": "s1", "fresh": True}  # asked of the engine
    assert http.post(f"{path}/estimate", json=question).status_code == 200
    assert http.post("/v1/synopses/metrics-nobody/estimate", json=question).status_code == 404
    now = since.wait_for(
        {
            ("sde_tuples_total", "json"): 1001,
            ("sde_tuples_left_out_total", "skipped"): 1,
            ("sde_dead_letters_total", "bad_json"): 1,
            ("sde_dead_letters_total", "bad_encoding"): 1,
            ("sde_dead_letters_total", "bad_tuple"): 1,
            ("sde_requests_total", "ok", "create"): 1,
            ("sde_requests_total", "ok", "estimate"): 1,
            ("sde_requests_total", "unknown_synopsis", "estimate"): 1,
            ("sde_http_requests_total", "ok", "create"): 1,
            ("sde_http_requests_total", "unknown_synopsis", "estimate"): 1,
            ("sde_http_requests_total", "ok", "tuples"): 1,
            ("sde_http_body_bytes_total",): len(lines)
            + sum(
                len(json.dumps(b, separators=(",", ":"))) for b in (definition, question, question)
            ),
        }
    )
    assert now["sde_up",] == 1
    assert now["sde_engine_state", "running"] == 1
    assert now["sde_streams", "Metrics"] == 7
    assert now["sde_state_bytes", "Metrics"] > 0
    assert now["sde_batches_total",] > 0
    assert now["sde_batch_seconds_count", "triggerExecution"] == now["sde_batches_total",]
    assert now["sde_commit_seconds_count",] > 0
    assert now["sde_lag_messages", "sde-data"] == 0
    assert http.delete(path).status_code == 200


def test_names_that_tuples_bring_are_in_no_label(http, engine):
    since = Since(http)
    nasty = 'x"} 1\nsde_up{a="'
    tuples = [{"dataset": f"{nasty}{n}", "stream": nasty, "values": {nasty: 1}} for n in range(500)]
    send(engine, "\n".join(map(json.dumps, tuples)).encode())
    now = since.wait_for({("sde_tuples_total", "json"): 500})
    assert not [key for key in now if any("x" + '"' in part for part in key[1:])]


def test_a_chosen_watch_is_a_gauge_with_its_bounds_until_it_ends(http):
    definition = {"dataset": "MetricsWatch", "kind": "count_min", "key": "k"}
    assert http.put("/v1/synopses/metrics-watched", json=definition).status_code == 201
    begun = http.post(
        "/v1/synopses/metrics-watched/watches",
        json={"query": {"key": "a"}, "every": "1s"},
        headers={"Idempotency-Key": "metrics-watch"},
    )
    assert begun.status_code == 201
    since = Since(http)
    http.post("/v1/datasets/MetricsWatch/tuples", json=[{"stream": "s", "k": "a"}] * 30)
    now = since.wait_for({("sde_watch_value", "metrics-watch"): 30})
    assert now["sde_watch_lower", "metrics-watch"] <= 30 == now["sde_watch_upper", "metrics-watch"]
    assert now["sde_watch_answers_total", "ok"] > 0
    assert http.delete("/v1/synopses/metrics-watched").status_code == 200
    since.wait_for({("sde_watch_value", "metrics-watch"): 0})
    assert ("sde_watch_value", "metrics-watch") not in scrape(http)
