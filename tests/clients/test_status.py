"""`sde status`, from the file that an engine writes."""

import json
import os
import socket
import time
from collections import Counter

import pytest
from click.testing import CliRunner
from engine_folder import engine, write_status

from clients.cli import main, status
from clients.errors import Unreachable


@pytest.fixture(autouse=True)
def data(monkeypatch, tmp_path):
    monkeypatch.setenv("SDE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("SDE_BOOTSTRAP_SERVERS", raising=False)
    found = {"sde-dead-letters": Counter(late=3), "sde-output": Counter(bad_json=2000)}
    monkeypatch.setattr(status, "recent_faults", lambda _, topic, __: found[topic])
    return tmp_path


def run(*args):
    return CliRunner().invoke(main, ["status", *args], env={"COLUMNS": "200"})


def test_a_running_engine_tells_how_it_is(data):
    (data / "logs").mkdir()
    (data / "logs" / "spark.log").write_bytes(b"x" * 100_000)
    with engine(data):
        write_status(
            data,
            pid=os.getpid(),
            host=socket.gethostname(),
            batches=1234,
            last_batch="2026-01-01T00:00:00.000Z",
            messages_per_second=56_789.4,
            lag=1_000_000,
            behind={"trades/eu-trades": 900_000, "sde-data": 100_000},
            passed_over=2,
            folders={"logs": str(data / "logs"), "snapshots": "s3://bucket/x"},
        )
        result, as_json = run(), json.loads(run("--json").stdout)
    assert result.exit_code == 0, result.output
    for expected in (
        f"running, pid {os.getpid()}, since 20",
        "127.0.0.1:1",
        "56,789 messages/s; 1,000,000 wait to be read: 900,000 of",
        "trades/eu-trades, 100,000 of sde-data",
        "1,234, the last at 2026-01-01T00:00:00.000Z",
        "2 messages",
        "bad_json 2,000, late 3 in the last 10 minutes",
        "processes (Java ",
        "logs 102 kB",
    ):
        assert expected in result.stdout
    assert (as_json["running"], as_json["ready"]) == (True, True)
    assert as_json["memory"]["python"] > 1_000_000
    assert as_json["faults"] == {"late": 3, "bad_json": 2000}
    assert list(as_json["disk"]) == ["logs"]


@pytest.mark.parametrize("state", ["running", "waiting"])
def test_an_engine_whose_kafka_is_away_is_not_ready_and_kafka_is_not_asked(
    data, monkeypatch, state
):
    def never(*_):
        raise AssertionError("Kafka was asked")

    monkeypatch.setattr(status, "recent_faults", never)
    with engine(data):
        write_status(data, state=state, kafka_away_since=1_700_000_000_000, kafka_problem="no")
        result, as_json = run(), json.loads(run("--json").stdout)
    assert result.exit_code == 1
    assert (as_json["running"], as_json["ready"]) == (True, False)
    assert f"{state}, pid 7" in result.stdout
    assert "127.0.0.1:1, AWAY since 2023-11-14T22:13:20Z: no" in result.stdout


def test_faults_that_cannot_be_read_are_left_out(data, monkeypatch):
    def fails(*_):
        raise Unreachable("TLS is needed")

    monkeypatch.setattr(status, "recent_faults", fails)
    with engine(data):
        write_status(data)
        result = run()
    assert result.exit_code == 0
    assert "faults" not in result.stdout


def test_an_engine_that_was_killed_is_gone(data):
    with engine(data, pid=4711):
        write_status(data)
    for result in (run(), run("--json")):
        assert result.exit_code == 1
        assert "the engine (pid 4711)" in result.stdout
        assert "gone" in result.stdout


def test_a_folder_without_an_engine_says_so(data):
    result = run()
    assert result.exit_code == 1
    assert f"no engine runs in {data}" in result.stdout


def test_an_engine_that_starts_is_not_ready(data):
    with engine(data):
        write_status(data, state="starting")
        result = run()
    assert result.exit_code == 1
    assert "starting, pid 7" in result.stdout


def test_an_engine_that_writes_nothing_any_more_is_silent(data):
    with engine(data):
        write_status(data, written=round(time.time() * 1000) - 100_000)
        result = run()
    assert "silent for 10" in result.stdout
