"""Logs of an engine that runs for weeks have an end."""

import logging

import pytest

from service.engine import log_files
from service.engine.log_files import LogFiles
from service.settings import Settings


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setattr(log_files, "LARGEST", 1000)
    (tmp_path / "logs").mkdir()
    (tmp_path / "broker").mkdir()
    return Settings(data_dir=tmp_path)


@pytest.mark.parametrize(
    "name", ["logs/batches.jsonl", "logs/plugins.log", "logs/spark.out", "broker/broker.log"]
)
def test_a_log_that_is_written_for_ever_stays_small_and_keeps_its_last_lines(settings, name):
    """The writer has the file open all the time, as a process has its output."""
    path = settings.data_dir / name
    files = LogFiles(settings)
    with path.open("ab", buffering=0) as writer:
        for number in range(1000):
            writer.write(b"line %d\n" % number)
            files.bound()
    before = path.with_name(f"{path.name}.1")
    assert path.stat().st_size <= 1010
    assert before.stat().st_size <= 1000
    lines = before.read_text().splitlines() + path.read_text().splitlines()
    assert lines == [f"line {n}" for n in range(1000 - len(lines), 1000)]
    assert len(lines) >= 100


def test_what_was_written_in_one_burst_is_cut_to_its_last_lines(settings):
    path = settings.data_dir / "logs" / "spark.out"
    path.write_text("".join(f"line {n}\n" for n in range(10_000)))
    LogFiles(settings).bound()
    assert path.stat().st_size == 0
    lines = path.with_name("spark.out.1").read_text().splitlines()
    assert lines == [f"line {n}" for n in range(10_000 - len(lines), 10_000)]


def test_a_handler_of_the_library_goes_on_behind_the_cut(settings):
    path = settings.data_dir / "logs" / "plugins.log"
    handler = logging.FileHandler(path)
    try:
        for number in range(200):
            handler.emit(logging.makeLogRecord({"msg": f"line {number}"}))
        LogFiles(settings).bound()
        handler.emit(logging.makeLogRecord({"msg": "after"}))
    finally:
        handler.close()
    assert path.read_text() == "after\n"
