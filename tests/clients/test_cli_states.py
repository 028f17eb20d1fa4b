"""Windows, states and snapshots on the command line."""

import json

import pytest
from click.testing import CliRunner

from clients import InMemoryTransport
from clients.cli import main
from sde.wire import Import, decode_request


def run(*args, handler=lambda request: {}, env=None):
    transport = InMemoryTransport(handler)
    result = CliRunner().invoke(main, args, obj=transport, env=env)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    for request in transport.requests:
        decode_request(dict(request), "requests-0-0")
    return result, transport


@pytest.mark.parametrize(
    ("words", "window"),
    [
        ("--window 5m", {"type": "tumbling", "size": "5m"}),
        ("--window 5m --slide 10s", {"type": "sliding", "size": "5m", "slide": "10s"}),
        ("--window 1000", {"type": "tumbling", "size": 1000}),
        (
            "--window 5m --time at --format iso --skew 1d",
            {"type": "tumbling", "size": "5m", "time": "at", "format": "iso", "skew": "1d"},
        ),
        (
            "--window 1000 --slide 100 --keep 5000",
            {"type": "sliding", "size": 1000, "slide": 100, "keep": 5000},
        ),
        (
            "--session-gap 30s --time at --lateness 5s --keep 1h",
            {"type": "session", "gap": "30s", "time": "at", "lateness": "5s", "keep": "1h"},
        ),
    ],
)
def test_create_makes_the_window_the_words_say(words, window) -> None:
    result, transport = run("create", "fm", "--dataset", "d", *words.split())
    assert result.exit_code == 0
    assert transport.requests[0]["window"] == window


@pytest.mark.parametrize("words", ["", "--window 1000"])
def test_without_a_window_by_time_the_time_is_that_of_the_kind(words) -> None:
    _, transport = run("create", "dft", "--dataset", "d", "--time", "at", *words.split())
    assert transport.requests[0]["time"] == "at"
    assert "time" not in transport.requests[0].get("window", {})


@pytest.mark.parametrize(
    ("kind", "field", "of_kind"),
    [("sample", "at", "at"), ("fm", "at", None), ("sample", "arrival", None)],
)
def test_the_time_of_a_window_is_that_of_a_kind_that_reads_times(kind, field, of_kind) -> None:
    words = f"create {kind} --dataset d --key k --window 5m --time {field}"
    _, transport = run(*words.split())
    assert transport.requests[0]["window"]["time"] == field
    assert transport.requests[0].get("time") == of_kind


@pytest.mark.parametrize("kind", ["latest", "latest@2"])
@pytest.mark.parametrize("reads", [["times", "values"], ["values"]])
def test_whether_a_plug_in_reads_times_the_engine_tells(kind, reads) -> None:
    declared = {"doc": "", "guarantee": "", "value_fields": 1, "parameters": [], "questions": []}
    declared |= dict.fromkeys(("mergeable", "linear", "order_free", "idempotent"), True)
    versions = {"latest@1": ["keys"], "latest@2": reads}
    told = [
        {"state": "active", "declared": {**declared, "kind": name, "reads": columns}}
        for name, columns in versions.items()
    ]

    def handler(request):
        return {"value": told} if request["op"] == "plugins" else {}

    words = f"create {kind} --dataset d --value v --session-gap 1m --time at"
    _, transport = run(*words.split(), handler=handler)
    assert transport.requests[-1]["window"]["time"] == "at"
    assert transport.requests[-1].get("time") == ("at" if "times" in reads else None)


def test_create_has_lifetimes() -> None:
    words = "create fm --dataset d --scope stream --ttl 1d --idle 10m"
    _, transport = run(*words.split())
    assert (transport.requests[0]["ttl"], transport.requests[0]["idle"]) == ("1d", "10m")
    assert "window" not in transport.requests[0]


def test_the_window_of_a_kind_is_a_parameter_and_of_others_an_option() -> None:
    _, transport = run("create", "dft", "--dataset", "d", "window=128")
    assert transport.requests[0]["params"] == {"window": 128}
    refused, _ = run("create", "fm", "--dataset", "d", "window=5m")
    assert "expected --window 5m" in refused.stderr


def test_estimate_and_export_ask_for_a_window_or_a_span(tmp_path) -> None:
    told = {"value": 5, "window": {"start": 0, "end": 300_000}}
    result, transport = run("estimate", "u", "--end", "300000", handler=lambda request: told)
    assert transport.requests[0]["end"] == 300_000
    for shown in ("from", "1970-01-01T00:00:00Z", "to", "1970-01-01T00:05:00Z"):
        assert shown in result.stdout
    words = ("--from", "2024-01-01T12:00:00Z", "--to", "2024-01-01T12:05:00Z")
    path = str(tmp_path / "u.state")
    _, transport = run("export", "u", "--output", path, *words, handler=lambda r: {"value": ""})
    assert (transport.requests[0]["from"], transport.requests[0]["to"]) == words[1::2]


def test_import_sends_the_state_of_a_file(tmp_path) -> None:
    path = tmp_path / "u.state"
    path.write_bytes(b"\x00state")
    result, transport = run("import", str(path), "--uid", "u", "--tuples", "5", "--stream", "s")
    assert result.stdout == "6 bytes merged into u\n"
    (request,) = transport.requests
    assert decode_request(request, "") == Import(
        id=request["id"], uid="u", state="AHN0YXRl", stream="s", mode="merge", tuples=5
    )
    result, transport = run("import", str(path), "--uid", "u", "--replace", "--json")
    assert json.loads(result.stdout) == {"uid": "u", "bytes": 6, "replaced": True}
    assert transport.requests[0]["mode"] == "replace"


def test_snapshot_and_restore_print_what_they_made() -> None:
    def handler(request):
        return {"value": request.get("version", "7")}

    assert run("snapshot", "u", handler=handler)[0].stdout == "7\n"
    result, _ = run("snapshot", "u", "--version", "v1", "--json", handler=handler)
    assert json.loads(result.stdout) == {"uid": "u", "version": "v1"}
    assert run("restore", "u", handler=handler)[0].stdout == "u\n"
    result, transport = run("restore", "u", "--version", "v1", "--as", "new", handler=handler)
    assert result.stdout == "new\n"
    assert (transport.requests[0]["version"], transport.requests[0]["as"]) == ("v1", "new")


def test_an_unknown_version_points_to_those_there_are() -> None:
    fault = {"status": "error", "code": "unknown_version", "message": "no", "field": "version"}
    result, _ = run("restore", "u", "--version", "v9", handler=lambda request: fault)
    assert result.exit_code == 1
    assert "sde snapshots" in result.stderr


KEPT = {"uid": "u", "version": "v1", "kind": "fm", "dataset": "d", "scope": {"stream": "s"}}
KEPT |= {"at": 1_704_110_400_000, "bytes": 25_000, "shards": 4}


def test_snapshots_are_listed() -> None:
    result, transport = run("snapshots", "u", handler=lambda request: {"value": [KEPT]})
    head, _, row = (line.split() for line in result.stdout.splitlines() if line.strip())
    assert head == ["uid", "version", "kind", "dataset", "scope", "taken", "size"]
    assert row == ["u", "v1", "fm", "d", "stream=s", "2024-01-01T12:00:00Z", "25", "kB"]
    assert transport.requests[0]["uid"] == "u"
    as_json, _ = run("snapshots", "--json", handler=lambda request: {"value": [KEPT]})
    assert json.loads(as_json.stdout) == [KEPT]
    none, _ = run("snapshots", handler=lambda request: {"value": []})
    assert none.stdout == "There are no snapshots.\n"


def test_list_and_describe_show_windows() -> None:
    told = {"uid": "u", "dataset": "d", "kind": "fm", "scope": "dataset", "watermark": 1500}
    told["window"] = {"type": "sliding", "size": "5m", "slide": "10s"}

    def handler(request):
        return {"value": [told] if request["op"] == "list" else told}

    listed, _ = run("list", handler=handler)
    assert "5m / 10s" in listed.stdout
    described, _ = run("describe", "u", handler=handler)
    assert "1970-01-01T00:00:01.500Z" in described.stdout


@pytest.mark.parametrize(
    "args",
    [
        ["create", "fm", "--dataset", "d", "--slide", "10s"],
        ["create", "fm", "--dataset", "d", "--lateness", "10s"],
        ["create", "fm", "--dataset", "d", "--window", "5m", "--session-gap", "10s"],
        ["create", "fm", "--dataset", "d", "ttl=5m"],
        ["create", "dft", "--dataset", "d", "window=128", "--window", "1000"],
        ["estimate", "u", "--from", "5"],
        ["estimate", "u", "--to", "5"],
        ["estimate", "u", "--from", "5", "--to", "6", "--end", "6"],
        ["estimate", "u", "end=5"],
        ["import", "missing.state", "--uid", "u"],
        ["rescale"],
        ["rescale", "--partitions", "0"],
    ],
)
def test_wrong_usage_ends_with_2(args) -> None:
    result, transport = run(*args)
    assert result.exit_code == 2
    assert transport.requests == []
