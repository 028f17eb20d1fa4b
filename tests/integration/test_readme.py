"""The README's commands and code, copied from it and run against `sde serve` as it stands there."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

README = (Path(__file__).parents[2] / "README.md").read_text()
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "SDE_TIMEOUT": "120",  # the machine may be busy
}


def block(language, containing):
    """The first code block of a language that contains a text."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return next(text for named, text in blocks if named == language and containing in text)


def run(folder, *command):
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which `sde serve` runs, in a process group of its own as in a shell."""
    folder = tmp_path_factory.mktemp("readme")
    serve = subprocess.Popen(
        ["sde", "serve"],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for line in serve.stdout:
        if ": ready" in line:
            break
    assert serve.poll() is None
    yield folder
    os.killpg(serve.pid, signal.SIGINT)  # Ctrl-C reaches every process of the terminal
    said = serve.communicate(timeout=120)[0]
    assert serve.returncode == 0
    assert said.splitlines()[-1] == "sde: stopped"
    assert not (folder / "sde-data" / "address.json").exists()


def test_the_commands_work_as_shown(folder):
    commands = block("", "sde create count_min").replace(". .venv/bin/activate\n", "")
    shown = run(folder, "bash", "-euc", commands)
    assert shown.returncode == 0, shown.stderr
    for uid, flags, exact in (("trades", ["key=ann"], 2), ("traders", ["--stream", "EURUSD"], 2)):
        answer = json.loads(run(folder, "sde", "estimate", uid, *flags, "--json").stdout)
        assert answer["lower"] <= exact <= answer["upper"]
        assert uid in shown.stdout


def test_the_python_code_works_as_shown(folder):
    address = json.loads((folder / "sde-data" / "address.json").read_text())["bootstrap_servers"]
    for containing in ("from clients import Client", "from synopses import HyperLogLog"):
        code = block("python", containing).replace("localhost:9092", address)
        ran = run(folder, sys.executable, "-c", code)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout


def test_a_mistake_is_explained(folder):
    refused = run(folder, "sde", "create", "count_min", "--dataset", "d", "--key", "k", "epsilon=7")
    assert refused.returncode == 1
    assert "epsilon" in refused.stderr
    unknown = run(folder, "sde", "estimate", "nobody", "key=1")
    assert unknown.returncode == 1
    assert "nobody" in unknown.stderr
