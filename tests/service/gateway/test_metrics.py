"""`/metrics` and what the gateway counts."""

import os
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sde.wire.status import METRICS_FILE
from service.gateway import counts
from service.gateway.counts import Counts
from service.gateway.routes import ROUTES

DEFINITION = {"dataset": "d", "kind": "count_min", "key": "k"}


def samples(text):
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / METRICS_FILE).write_text("sde_batches_total 5\n")
    return tmp_path


def of(folder):
    return samples(Counts(folder).exposition(event_streams=3).decode())


def test_what_the_engine_wrote_a_moment_ago_is_passed_on(folder):
    found = of(folder)
    assert (found["sde_up",], found["sde_batches_total",]) == (1, 5)
    assert found["sde_event_streams",] == 3


def test_an_engine_that_wrote_nothing_for_a_while_is_down(folder):
    then = time.time() - 20
    os.utime(folder / METRICS_FILE, (then, then))
    found = of(folder)
    assert found["sde_up",] == 0
    assert ("sde_batches_total",) not in found


def test_without_a_file_of_an_engine_there_is_none(tmp_path):
    assert of(tmp_path)["sde_up",] == 0
    assert of(None)["sde_up",] == 0


def test_a_file_that_is_too_large_is_left_out(folder, monkeypatch):
    monkeypatch.setattr(counts, "_MOST_BYTES", 10)
    assert of(folder)["sde_up",] == 0


def test_requests_are_counted_by_op_and_code(served):
    assert served.http.put("/v1/synopses/u", json=DEFINITION).status_code == 201
    assert served.http.get("/v1/synopses/nobody").status_code == 404
    assert served.http.get("/no/such/path").status_code == 404
    response = served.http.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = samples(response.text)
    assert found["sde_http_requests_total", "ok", "create"] == 1
    assert found["sde_http_requests_total", "unknown_synopsis", "describe"] == 1
    assert found["sde_http_requests_total", "not_found", "none"] == 1
    assert found["sde_http_body_bytes_total",] > 0
    assert found["sde_http_requests_in_flight",] == 1  # this one
    assert found["sde_request_seconds_count", "kafka"] == 3  # a create looks first
    assert ("sde_request_seconds_count", "lane") not in found


def test_paths_and_methods_that_nobody_knows_make_no_labels(served):
    for number in range(50):
        served.http.request(f"X{number}", f"/v1/{number}")
        served.http.get(f"/v1/synopses/u{number}")
    found = samples(served.http.get("/metrics").text)
    ops = {key[2] for key in found if key[0] == "sde_http_requests_total"}
    assert ops <= {route.op for route in ROUTES} | {"none"}
    codes = {key[1] for key in found if key[0] == "sde_http_requests_total"}
    assert codes <= {"ok", "not_found", "method_not_allowed", "unknown_synopsis"}
