"""What an engine writes down about itself."""

from types import SimpleNamespace

import pytest

from sde.wire.status import STATUS_FILE, decode_status
from service.engine import status
from service.engine.kafka_watch import Outage
from service.engine.status import StatusFile
from service.settings import Settings


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=1000.0)
    fake = SimpleNamespace(monotonic=lambda: now.seconds, time=lambda: now.seconds)
    monkeypatch.setattr(status, "time", fake)
    return now


@pytest.fixture
def progress():
    return SimpleNamespace(batches=0, last_batch="", reached={}, lag=None, behind={})


def test_the_file_tells_the_rate_of_the_data_topics_in_the_last_half_minute(
    tmp_path, clock, progress
):
    file = StatusFile(Settings(data_dir=tmp_path), progress)

    def written():
        file.write("running", "k:1", None, 3)
        return decode_status((tmp_path / STATUS_FILE).read_bytes())

    assert written().messages_per_second is None
    for second in range(100):
        clock.seconds += 1
        per_second = 50 if second < 60 else 200
        sent = progress.reached.get(("sde-data", 0), 10**9) + per_second
        progress.reached = {("sde-data", 0): sent, ("sde-requests", 0): second**2}
        written()
    progress.lag, progress.behind, progress.batches = 17, {"sde-data": 17}, 12
    clock.seconds += 1
    last = written()
    assert last.messages_per_second == pytest.approx(200, rel=0.05)
    assert (last.lag, last.batches, last.passed_over, last.since) == (17, 12, 3, 1_000_000)
    assert last.behind == {"sde-data": 17}
    assert last.limits["max_synopses"] == Settings().limits.max_synopses


def test_an_outage_and_a_change_of_state_are_written_at_once(tmp_path, clock, progress):
    file = StatusFile(Settings(data_dir=tmp_path), progress)
    file.write("running", "k:1", None, 0)
    file.write("waiting", "k:1", Outage(999.5, "refused"), 0)
    found = decode_status((tmp_path / STATUS_FILE).read_bytes())
    assert (found.state, found.kafka_away_since, found.kafka_problem) == (
        "waiting",
        999_500,
        "refused",
    )
    file.remove()
    assert list(tmp_path.iterdir()) == []
