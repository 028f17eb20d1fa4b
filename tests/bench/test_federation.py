import json

from bench.federation.adhoc import Asked
from bench.federation.drifting import Drifted, run
from bench.federation.report import goals, write

ASKED = Asked(6, 24, 900, 114_000, 0)


def drifted(share, size, violations=0):
    return Drifted(share, 60, size, 3, violations, 0.2)


def test_a_watch_with_drift_misses_nothing_and_sends_less():
    polled, watched = run(None, 40, warm_up=70), run(0.1, 40, warm_up=70)
    assert watched.violations == 0
    assert watched.furthest <= 1
    assert 0 < watched.bytes < polled.bytes


def test_missed_violations_and_chatter_miss_their_goals():
    good = [drifted(None, 1000), drifted(0.05, 100)]
    assert all(goal.met for goal in goals(ASKED, good))
    bad = [drifted(None, 1000), drifted(0.05, 101, violations=1)]
    assert [goal.met for goal in goals(ASKED, bad)] == [True, True, False, False]


def test_results_are_written(tmp_path):
    write(ASKED, [drifted(None, 1000), drifted(0.05, 100)], {"machine": "m"}, tmp_path)
    assert json.loads((tmp_path / "federation.json").read_text())["asked"]["questions"] == 24
    assert "drift 5%" in (tmp_path / "federation.md").read_text()
    assert (tmp_path / "federation.png").stat().st_size > 0
