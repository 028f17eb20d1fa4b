"""The log of batches, from what Spark reports."""

import json
from types import SimpleNamespace

from service.engine.progress import ProgressLog


def report(batch, read, latest=5, **milliseconds):
    offsets = {name: json.dumps({"t": {"0": n}}) for name, n in (("end", read), ("latest", latest))}
    source = {"endOffset": offsets["end"], "latestOffset": offsets["latest"]}
    at = "2026-01-01T00:00:00.000Z"
    return {"batchId": batch, "timestamp": at, "durationMs": milliseconds, "sources": [source]}


def test_every_batch_stands_in_the_log_once_also_after_reports_of_idleness(tmp_path):
    log = ProgressLog(tmp_path / "batches.jsonl")
    first, idle = report(0, 3, addBatch=10), report(1, 3, latestOffset=1)
    second = report(1, 5, addBatch=20)
    for reports in ([], [first], [first, idle], [first, idle, second], [first, idle, second]):
        latest = reports[-1] if reports else None
        log.follow(SimpleNamespace(lastProgress=latest, recentProgress=reports))
        assert (log.lag == 0) == (second in reports)
        assert log.behind == ({"t": 2} if first in reports and second not in reports else {})
    lines = (tmp_path / "batches.jsonl").read_text().splitlines()
    assert [json.loads(line)["milliseconds"] for line in lines] == [
        {"addBatch": 10},
        {"addBatch": 20},
    ]


def test_batches_between_two_looks_are_not_left_out(tmp_path):
    log = ProgressLog(tmp_path / "batches.jsonl")
    reports = [report(number, number, addBatch=number) for number in range(4)]
    log.follow(SimpleNamespace(lastProgress=reports[0], recentProgress=reports[:1]))
    log.follow(SimpleNamespace(lastProgress=reports[3], recentProgress=reports))
    lines = (tmp_path / "batches.jsonl").read_text().splitlines()
    assert [json.loads(line)["batch"] for line in lines] == [0, 1, 2, 3]
