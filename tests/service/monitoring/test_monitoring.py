"""Alerts, board and runbook fit the metrics that there are."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from service.metrics.declared import ENGINE, GATEWAY

ROOT = Path(__file__).parents[3]
ALERTS = ROOT / "service/monitoring/alerts.yml"
BOARD = ROOT / "service/monitoring/board.json"
RUNBOOK = ROOT / "docs/how-to/monitoring.md"
NAMES = {one.name for one in (*ENGINE, *GATEWAY)} | {
    f"{one.name}_{part}"
    for one in (*ENGINE, *GATEWAY)
    if one.kind == "histogram"
    for part in ("bucket", "sum", "count")
}
LABELS = {label for one in (*ENGINE, *GATEWAY) for label in one.labels}
OF_PROMETHEUS = {"job", "instance", "le"}


def promtool(*arguments):
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian's package: prometheus)")
    command = ["promtool", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def expressions():
    """Those of the alerts, and of the board."""
    text = ALERTS.read_text()
    found = re.findall(r"expr: (\|\n(?:          .*\n)+|.*\n)", text)
    assert len(found) == text.count("- alert: ")
    board = json.loads(BOARD.read_text())
    found += [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    return found


def test_the_rules_are_right():
    promtool("check", "rules", ALERTS)


def test_each_alert_fires_when_it_should_and_none_when_all_is_well():
    promtool("test", "rules", Path(__file__).with_name("alerts_test.yml"))


def test_the_scrape_config_of_the_runbook_is_right(tmp_path):
    (block,) = re.findall(r"```text\n(scrape_configs:.*?)```", RUNBOOK.read_text(), re.DOTALL)
    (tmp_path / "sde-token").write_text("token")
    shutil.copy(ALERTS, tmp_path / "sde-alerts.yml")
    config = tmp_path / "prometheus.yml"
    config.write_text(block.replace("/etc/prometheus", str(tmp_path)))
    promtool("check", "config", config)


def test_alerts_and_board_name_only_metrics_that_there_are():
    for expression in expressions():
        named = set(re.findall(r"\bsde_\w+", expression))
        assert named <= NAMES, expression
        selected = re.findall(r"[{,]\s*(\w+)\s*(?:=~|!=|!~|=)", expression)
        grouped = re.findall(r"(?:by|on) \(([^)]*)\)", expression)
        labels = {*selected, *(label.strip() for group in grouped for label in group.split(","))}
        assert labels <= LABELS | OF_PROMETHEUS, expression


def test_the_board_shows_every_metric_but_what_the_engine_is_made_of():
    shown = set(re.findall(r"\bsde_\w+", BOARD.read_text()))
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown}
    left = {one.name for one in (*ENGINE, *GATEWAY)} - shown
    assert left == {
        "sde_build_info",
        "sde_messages_total",
        "sde_messages_passed_over",
        "sde_offsets_lost_total",
        "sde_site_up",
    }


def test_the_panels_of_the_board_do_not_overlap():
    taken = set()
    for panel in json.loads(BOARD.read_text())["panels"]:
        at = panel["gridPos"]
        own = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not own & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= own


def test_the_runbook_says_of_each_alert_what_to_do():
    text = ALERTS.read_text()
    alerts = re.findall(r"- alert: (\w+)", text)
    assert re.findall(r"^### (\w+)$", RUNBOOK.read_text(), re.MULTILINE) == alerts
    named = re.findall(r"runbook: docs/how-to/monitoring.md#(\w+)", text)
    assert named == [alert.lower() for alert in alerts]
