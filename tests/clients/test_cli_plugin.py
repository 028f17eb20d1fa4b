"""`sde plugin`, over the in-memory transport; what it writes is run by real interpreters."""

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from clients import InMemoryTransport
from clients.cli import main
from clients.plugin_template import new_files
from sde.wire import decode_request

ROOT = Path(__file__).parents[2]
TOLD = {"name": "fence", "version": 1, "kind": "fence@1", "state": "active", "synopses": 2}
TOLD |= {"key": "c2Vj", "added": 1_704_110_400_000}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args, handler=lambda request: {"value": TOLD}):
    transport = InMemoryTransport(handler)
    result = CliRunner().invoke(main, ["plugin", *args], obj=transport)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    for request in transport.requests:
        decode_request(dict(request), "requests-0-0")
    return result, transport


def python(*args):
    """Another interpreter in this folder."""
    return subprocess.run(
        [sys.executable, *args],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("options", "base"), [((), "BankedSynopsis"), (("--free",), "Synopsis")])
def test_new_writes_a_plug_in_that_obeys_every_law_and_a_test_that_passes(
    folder, options, base
) -> None:
    result, _ = run("new", "speed_limit", *options)
    assert result.stdout == "speed_limit.py\ntest_speed_limit.py\n"
    assert f"class SpeedLimit({base})" in (folder / "speed_limit.py").read_text()
    tested = python("-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", ".")
    assert tested.returncode == 0, tested.stdout
    assert re.search(r"^\d\d passed", tested.stdout, re.MULTILINE), tested.stdout
    assert python("-m", "ruff", "check", ".").returncode == 0
    assert python("-m", "ruff", "format", "--check", ".").returncode == 0


def test_check_examines_the_new_plug_in_and_names_the_law_another_one_breaks(folder) -> None:
    run("new", "speeding")
    good = python("-m", "clients.cli", "plugin", "check", "speeding.py")
    assert good.returncode == 0, good.stderr
    assert "ok      merging_parts_gives_the_whole" in good.stdout
    assert "-       adding_twice_is_adding_once (not applicable: not idempotent)" in good.stdout
    source = (folder / "speeding.py").read_text()
    counts_batches = source.replace("np.add.at(", 'arrays["above"] += 1\n        np.add.at(')
    (folder / "bad.py").write_text(counts_batches)
    bad = python("-m", "clients.cli", "plugin", "check", "bad.py", "--name", "speeding")
    assert bad.returncode == 1
    assert "FAILED  batches_do_not_matter" in bad.stdout


def test_check_becomes_the_examination(monkeypatch, folder) -> None:
    became = []
    monkeypatch.setattr(os, "execv", lambda path, args: became.append(args))
    (folder / "fence.py").write_text("")
    run("check", "fence.py")
    run("check", "fence.py", "--name", "other")
    module = [sys.executable, "-P", "-m", "sde.plugins.check", "fence.py"]
    assert became == [module, [*module, "other"]]


@pytest.mark.parametrize("existing", ["fence.py", "test_fence.py"])
def test_new_writes_over_nothing(folder, existing) -> None:
    (folder / existing).write_text("mine")
    result, _ = run("new", "fence")
    assert result.exit_code == 1
    assert f"{existing} exists already" in result.stderr
    assert [path.name for path in folder.iterdir()] == [existing]
    assert (folder / existing).read_text() == "mine"


def test_the_starting_point_is_short() -> None:
    for free, most in ((False, 20), (True, 35)):
        plugin, _ = new_files("fence", free=free).values()
        lines = [line for line in plugin.splitlines() if line.strip()]
        assert len(lines) <= most


def test_keygen_prints_the_public_key_and_where_the_private_one_is(folder) -> None:
    result, _ = run("keygen")
    assert len(base64.b64decode(result.stdout)) == 32
    assert "plugin-key.pem" in result.stderr
    assert f'plugin_keys = ["{result.stdout.strip()}"]' in result.stderr
    again, _ = run("keygen")
    assert again.exit_code == 1
    assert "exists already" in again.stderr
    other, _ = run("keygen", "other.pem", "--json")
    told = json.loads(other.stdout)
    assert told["file"] == "other.pem"
    assert told["key"] != result.stdout.strip()


def test_add_sends_the_file_signed(folder) -> None:
    public = run("keygen", "me.pem")[0].stdout.strip()
    (folder / "fence.py").write_text("x = 1\n")
    result, transport = run("add", "fence.py", "--key", "me.pem")
    assert (result.exit_code, result.stdout) == (0, "fence@1 is active\n")
    (request,) = transport.requests
    assert (request["op"], request["name"], request["source"]) == ("plugin", "fence", "x = 1\n")
    assert request["key"] == public
    unsigned, transport = run("add", "fence.py", "--name", "other", "--json")
    assert json.loads(unsigned.stdout) == TOLD
    assert transport.requests[0]["name"] == "other"
    assert transport.requests[0].keys().isdisjoint({"key", "signature"})


@pytest.mark.parametrize(
    ("code", "signed", "hint"),
    [
        ("untrusted", False, "'sde plugin keygen' makes a key"),
        ("untrusted", True, ""),
        ("broken_law", True, "'sde plugin check fence.py'"),
    ],
)
def test_a_plug_in_that_is_refused_points_to_what_helps(folder, code, signed, hint) -> None:
    run("keygen", "me.pem")
    (folder / "fence.py").write_text("x = 1\n")
    fault = {"status": "error", "code": code, "message": "no", "field": "source"}
    words = ["add", "fence.py", *(["--key", "me.pem"] if signed else [])]
    result, _ = run(*words, handler=lambda request: fault)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == f"Error: {code}: no (field source)"
    assert hint in result.stderr
    assert bool(hint) == ("sde plugin" in result.stderr)


def test_plug_ins_are_listed() -> None:
    bad = {**TOLD, "version": 2, "kind": "fence@2", "state": "quarantined", "reason": "it looped"}
    result, _ = run("list", handler=lambda request: {"value": [TOLD, bad]})
    for shown in ("fence@1", "active", "fence@2", "quarantined", "it looped"):
        assert shown in result.stdout
    as_json, _ = run("list", "--json", handler=lambda request: {"value": [TOLD]})
    assert json.loads(as_json.stdout) == [TOLD]
    none, _ = run("list", handler=lambda request: {"value": []})
    assert none.stdout == "There are no plug-ins.\n"


def test_a_version_may_take_over_the_synopses_of_the_one_before(folder) -> None:
    (folder / "fence.py").write_text("x = 1\n")
    moved = {**TOLD, "version": 2, "kind": "fence@2", "moved": 3}
    result, transport = run("add", "fence.py", "--migrate", handler=lambda _: {"value": moved})
    assert result.stdout == "fence@2 is active and took over 3 synopses\n"
    assert transport.requests[0]["migrate"] is True


def test_release_lets_a_quarantined_version_go_on() -> None:
    def handler(request):
        return {"value": ["fence@1"]}

    result, transport = run("release", "fence", "--version", "1", handler=handler)
    assert result.stdout == "fence@1 released\n"
    assert (transport.requests[0]["op"], transport.requests[0]["version"]) == ("release", 1)
    as_json, _ = run("release", "fence", "--json", handler=handler)
    assert json.loads(as_json.stdout) == {"released": ["fence@1"]}


def test_remove_takes_out_one_version_or_all() -> None:
    result, transport = run("remove", "fence", "--version", "1")
    assert result.stdout == "fence@1 removed\n"
    assert (transport.requests[0]["op"], transport.requests[0]["version"]) == ("unplug", 1)
    result, transport = run("remove", "fence", "--json")
    assert json.loads(result.stdout) == {"name": "fence", "version": None}
    assert "version" not in transport.requests[0]


@pytest.mark.parametrize(
    "args",
    [
        ["new"],
        ["new", "class"],
        ["new", "count_min"],
        ["check", "missing.py"],
        ["add", "missing.py"],
        ["add", __file__, "--key", "missing.pem"],
        ["remove", "fence", "--version", "0"],
    ],
)
def test_wrong_usage_ends_with_2(args) -> None:
    result, transport = run(*args)
    assert result.exit_code == 2
    assert transport.requests == []


def test_a_name_that_no_kind_can_have_ends_with_1(folder) -> None:
    result, _ = run("new", "My-Fence")
    assert result.exit_code == 1
    assert "name='My-Fence': expected a small letter" in result.stderr
    assert list(folder.iterdir()) == []
