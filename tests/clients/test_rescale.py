"""`sde rescale`, with a thread in the place of the engine that finds the note."""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import engine_folder
import pytest
from click.testing import CliRunner

from clients.cli import main, rescale


@pytest.fixture
def folder(tmp_path) -> Iterator[Path]:
    with engine_folder.engine(tmp_path):
        yield tmp_path


def run(folder, *args):
    return CliRunner().invoke(main, ["rescale", "--partitions", "8", *args], env=env(folder))


def env(folder) -> dict[str, str]:
    return {"SDE_DATA_DIR": str(folder)}


class NoteTaker(threading.Thread):
    """Waits for the note, keeps it, does `act`, and takes the note away."""

    def __init__(self, folder: Path, act=lambda: None) -> None:
        super().__init__(daemon=True)
        self.note = folder / "rescale.json"
        self.found: dict[str, int] = {}
        self._act = act

    def run(self) -> None:
        while not self.note.exists():
            time.sleep(0.005)
        self.found = json.loads(self.note.read_text())
        self._act()
        self.note.unlink()


def test_a_running_engine_is_asked_and_waited_for(folder) -> None:
    engine = NoteTaker(folder)
    engine.start()
    result = run(folder)
    engine.join(10)
    assert engine.found == {"partitions": 8}
    assert result.exit_code == 0
    assert result.stdout.startswith("8 partitions after ")
    assert sorted(path.name for path in folder.iterdir()) == ["address.json", "lock"]


def test_json_tells_the_partitions(folder) -> None:
    engine = NoteTaker(folder)
    engine.start()
    assert json.loads(run(folder, "--json").stdout)["partitions"] == 8


def test_a_failure_is_told_and_ends_with_1(folder) -> None:
    failed = folder / "rescale-failed.json"
    engine = NoteTaker(folder, lambda: failed.write_text('{"message": "no room"}'))
    engine.start()
    result = run(folder)
    engine.join(10)
    assert result.exit_code == 1
    assert result.stderr == "Error: no room\n"


def test_a_failure_of_an_earlier_attempt_does_not_count(folder) -> None:
    (folder / "rescale-failed.json").write_text('{"message": "no room"}')
    NoteTaker(folder).start()
    assert run(folder).exit_code == 0


def test_ctrl_c_takes_the_note_back(folder, monkeypatch) -> None:
    def interrupted(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(rescale.time, "sleep", interrupted)
    result = run(folder)
    assert result.exit_code == 1
    assert "no longer waited for" in result.stderr
    assert not (folder / "rescale.json").exists()


@pytest.mark.parametrize("was_killed", [False, True])
def test_without_a_running_engine_the_process_does_it_itself(
    tmp_path, monkeypatch, was_killed
) -> None:
    if was_killed:
        with engine_folder.engine(tmp_path):
            pass
    became = []
    monkeypatch.setattr(os, "execv", lambda path, args: became.append(args))
    run(tmp_path)
    words = ["--data-dir", str(tmp_path), "--partitions", "8"]
    assert became == [[sys.executable, "-P", "-m", "service.engine.rescale", *words]]
    assert not (tmp_path / "rescale.json").exists()
