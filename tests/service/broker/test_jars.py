"""The cache of the broker's jars. The download itself is proved by every test with a broker."""

import subprocess
import sys
from pathlib import Path

import pytest

from service.broker.jars import broker_jars
from service.startup_errors import JarsError

ROOT = Path(__file__).parents[3]
# Stands for Java with Ivy: writes one jar where `-retrieve PATTERN` says, slowly enough that a
# second process comes meanwhile, and counts its runs.
IVY = """#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "17"' >&2; exit 0; fi
echo run >> {runs}
while [ "$1" != -retrieve ]; do shift; done
sleep 1
mkdir -p "$(dirname "$2")" && touch "$(dirname "$2")/kafka.jar"
"""


@pytest.fixture
def install_java(monkeypatch, tmp_path):
    """Puts a script in the place of Java, and an empty cache beside it."""

    def install(script: str) -> None:
        java = tmp_path / "java" / "bin" / "java"
        java.parent.mkdir(parents=True, exist_ok=True)
        java.write_text(script)
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
        monkeypatch.setenv("SDE_CACHE", str(tmp_path / "cache"))

    return install


def test_two_processes_at_once_fetch_once(install_java, tmp_path):
    runs = tmp_path / "runs"
    install_java(IVY.format(runs=runs))
    command = [sys.executable, "-m", "service.broker.jars"]

    both = [subprocess.Popen(command, cwd=ROOT) for _ in range(2)]

    assert [process.wait(60) for process in both] == [0, 0]
    assert runs.read_text() == "run\n"


def test_what_was_fetched_is_not_fetched_again_and_needs_no_java(install_java, tmp_path):
    install_java(IVY.format(runs=tmp_path / "runs"))
    fetched = broker_jars()
    (tmp_path / "java" / "bin" / "java").unlink()

    assert broker_jars() == fetched
    assert [jar.name for jar in fetched.iterdir()] == ["kafka.jar"]


def test_a_failed_fetch_shows_ivys_last_lines_and_leaves_no_half_folder(install_java, tmp_path):
    failing = IVY.format(runs=tmp_path / "runs").replace(
        "sleep 1", 'mkdir -p "$(dirname "$2")"; echo "UNRESOLVED DEPENDENCIES"; exit 1'
    )
    install_java(failing)

    with pytest.raises(JarsError, match=r"(?s)UNRESOLVED DEPENDENCIES.*Check the network"):
        broker_jars()

    install_java(IVY.format(runs=tmp_path / "runs"))
    assert [jar.name for jar in broker_jars().iterdir()] == ["kafka.jar"]


def test_progress_is_told_in_plain_lines(install_java):
    found = "for i in 1 2 3 4 5 6 7 8 9 10; do printf '\\tfound a#b;1 in public\\n'; done\n"
    got = "for i in 1 2 3 4 5 6 7 8 9 10; do printf '\\t[SUCCESSFUL ] a#b;1!b.jar (1ms)\\n'; done\n"
    install_java(IVY.format(runs="/dev/null").replace("sleep 1\n", found + got))
    lines: list[str] = []

    broker_jars(lines.append)

    assert lines[1:3] == ["  10 jars found", "  10 of 10 jars downloaded"]
