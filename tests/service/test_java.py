import os
import subprocess
import sys
from pathlib import Path

import pytest

from service.java import find_java
from service.startup_errors import JavaError


def fake_java(folder: Path, version: str) -> Path:
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    executable.chmod(0o755)
    return executable


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def test_this_machines_java_is_found():
    assert find_java().name == "java"


@pytest.mark.parametrize("version", ["17", "17.0.15", "21-ea", "25.0.1+9"])
@pytest.mark.usefixtures("no_java")
def test_java_17_and_newer_are_accepted(monkeypatch, tmp_path, version):
    executable = fake_java(tmp_path, version)
    monkeypatch.setenv("PATH", f"{executable.parent}:/usr/bin:/bin")

    assert find_java() == executable


@pytest.mark.parametrize(("version", "major"), [("1.8.0_292", 8), ("11.0.2", 11), ("16", 16)])
@pytest.mark.usefixtures("no_java")
def test_an_old_java_is_refused_in_one_sentence(monkeypatch, tmp_path, version, major):
    executable = fake_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(JavaError) as refused:
        find_java()

    assert str(refused.value) == (
        f"{executable} is Java {major}, which is too old: install Java 17 or newer and put it"
        " on PATH or name it in JAVA_HOME."
    )


def test_java_home_is_preferred_to_path(monkeypatch, tmp_path):
    fake_java(tmp_path, "11")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(JavaError, match="Java 11"):
        find_java()


@pytest.mark.usefixtures("no_java")
def test_a_missing_java_is_told_with_the_remedy():
    with pytest.raises(JavaError, match=r"No Java was found .*: install Java 17 or newer"):
        find_java()


def test_a_java_home_without_java_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(JavaError, match=f"JAVA_HOME={tmp_path} has no bin/java"):
        find_java()


def test_a_java_that_tells_no_version_is_named(monkeypatch, tmp_path):
    executable = fake_java(tmp_path, "x")
    executable.write_text("#!/bin/sh\necho no such thing\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(JavaError, match=r"does not tell its version \('no such thing'\)"):
        find_java()


def test_the_check_needs_no_installed_package_and_fails_with_the_sentence_alone():
    root = Path(__file__).parents[2]
    isolated = {"PATH": "", "PYTHONPATH": str(root)}

    checked = subprocess.run(
        [os.path.realpath(sys.executable), "-S", "-m", "service.java"],
        env=isolated,
        capture_output=True,
        text=True,
    )

    assert checked.returncode == 1
    assert checked.stderr.startswith("No Java was found")
    assert checked.stderr.count("\n") == 1
