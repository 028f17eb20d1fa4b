"""Python and shell of the pages, run as they stand there against `sde serve`."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clients import Client
from tests.docs.markdown_pages import ROOT, pages

pytestmark = pytest.mark.integration

ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "SDE_TIMEOUT": "120",  # the machine may be busy
    "SDE_PLUGINS": "open",  # the key that signs a page's plug-in is made on that page
}
ADDRESS = "localhost:9092"  # as a page has it, where no client of ours finds it
PAGES = [p for p in pages() if {"python", "shell"} & {b.language for b in p.blocks}]


def run(folder, *command):
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which `sde serve` runs, in a process group of its own as in a shell."""
    folder = tmp_path_factory.mktemp("pages")
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
    shutil.copy(ROOT / "synopses" / "examples" / "geofence.py", folder)  # of how-to/plug-ins.md
    yield folder
    os.killpg(serve.pid, signal.SIGINT)  # Ctrl-C reaches every process of the terminal
    printed = serve.communicate(timeout=120)[0]
    assert serve.returncode == 0
    assert printed.splitlines()[-1] == "sde: stopped"
    assert not (folder / "sde-data" / "address.json").exists()


@pytest.fixture(scope="module")
def address(folder):
    """Where the engine's Kafka is."""
    return json.loads((folder / "sde-data" / "address.json").read_text())["bootstrap_servers"]


@pytest.fixture(scope="module")
def cleaner(address):
    """The client that deletes what a page has left."""
    with Client(address, timeout=120) as sde:
        yield sde


@pytest.fixture
def runs(folder, address, cleaner, monkeypatch):
    """Runs the blocks of a page, which begins with an engine that has no synopses."""
    monkeypatch.setenv("SDE_TIMEOUT", ENVIRONMENT["SDE_TIMEOUT"])
    monkeypatch.chdir(folder)
    for pending in [cleaner.submit("delete", uid=each.uid) for each in cleaner.list()]:
        pending.result()

    def run_block(block):
        if block.language == "shell":
            shown = run(folder, "bash", "-euc", block.text)
            assert shown.returncode == 0, f"{block}\n{shown.stdout}\n{shown.stderr}"
            assert shown.stdout, block
        elif block.language == "python":
            code = block.text.replace(ADDRESS, address)
            exec(compile("\n" * (block.line - 1) + code, block.page, "exec"), {})

    return run_block


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)
def test_the_blocks_of_a_page_run_as_shown(page, runs):
    for block in page.blocks:
        runs(block)


def test_the_blocks_of_the_readme_run_as_shown(folder, runs):
    for block in PAGES[0].blocks:
        runs(block)
    answer = json.loads(run(folder, "sde", "estimate", "trades", "key=ann", "--json").stdout)
    assert answer["lower"] <= 2 <= answer["upper"]


def test_a_mistake_is_explained(folder):
    refused = run(folder, "sde", "create", "count_min", "--dataset", "d", "--key", "k", "epsilon=7")
    assert refused.returncode == 1
    assert "epsilon" in refused.stderr
    unknown = run(folder, "sde", "estimate", "nobody", "key=1")
    assert unknown.returncode == 1
    assert "nobody" in unknown.stderr
