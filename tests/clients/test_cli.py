"""The command line over the in-memory transport."""

import base64
import json
import os
import sys

import msgspec
import pytest
from click.testing import CliRunner

from clients import InMemoryTransport
from clients.cli import main
from sde.wire import catalogue


def run(*args, handler=lambda request: {}, env=None):
    transport = InMemoryTransport(handler)
    result = CliRunner().invoke(main, args, obj=transport, env=env)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result, transport


def fault(code, message="no", field=""):
    return lambda request: {"status": "error", "code": code, "message": message, "field": field}


def test_create_sends_what_the_words_say() -> None:
    words = "create count_min --dataset Forex --uid trades --key StockID --value volume"
    result, transport = run(*words.split(), "--scope", "stream", "epsilon=0.01", "mode=fast")
    assert (result.exit_code, result.stdout) == (0, "trades\n")
    (request,) = transport.requests
    del request["id"]
    assert request == {
        "op": "create",
        "uid": "trades",
        "dataset": "Forex",
        "kind": "count_min",
        "key": "StockID",
        "value": "volume",
        "scope": "stream",
        "params": {"epsilon": 0.01, "mode": "fast"},
    }


def test_create_for_one_stream_and_several_values() -> None:
    words = "create fm --dataset d --scope stream=EURUSD --value x --value y --reuse"
    _, transport = run(*words.split())
    (request,) = transport.requests
    assert request["scope"] == {"stream": "EURUSD"}
    assert request["value"] == ["x", "y"]
    assert request["reuse"] is True


def test_estimate_prints_the_answer_with_its_bounds() -> None:
    reply = {"value": 12345.0, "lower": 12000.5, "upper": 12345.0, "confidence": 0.99}
    result, transport = run(
        "estimate", "trades", "key=AAPL", "--stream", "EURUSD", handler=lambda r: reply
    )
    assert result.exit_code == 0
    for shown in ("value", "lower", "12,345", "12,000.50", "0.99"):
        assert shown in result.stdout
    (request,) = transport.requests
    assert (request["uid"], request["stream"]) == ("trades", "EURUSD")
    assert request["query"] == {"key": "AAPL"}


def test_estimate_asks_several_synopses_a_named_question() -> None:
    _, transport = run(
        "estimate", "a", "b", "--ask", "inner_product", handler=lambda r: {"value": 1}
    )
    (request,) = transport.requests
    assert request["uids"] == ["a", "b"]
    assert request["query"] == {"type": "inner_product"}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ([{"key": "AAPL", "weight": 3}, {"key": "[red]IBM"}], ["AAPL", "weight", "[red]IBM"]),
        ([["a", "b", 0.5], ["c"]], ["a", "b", "0.5", "c"]),
        (["x"], ["x"]),
        (True, ["true"]),
        (1e-7, ["1e-07"]),
    ],
)
def test_answers_of_any_form_are_shown(value, shown) -> None:
    result, _ = run("estimate", "u", handler=lambda request: {"value": value})
    assert result.exit_code == 0
    assert all(each in result.stdout for each in shown)


def test_json_prints_the_whole_reply() -> None:
    result, transport = run("estimate", "u", "--json", handler=lambda request: {"value": 1.5})
    printed = json.loads(result.stdout)
    assert printed["value"] == 1.5
    assert printed["request"] == transport.requests[0]["id"]


TOLD = {"uid": "u", "dataset": "d", "kind": "fm", "params": {"bitmaps": 64}, "scope": "stream"}


def test_list_and_describe_show_the_definitions() -> None:
    def handler(request):
        return {"value": [TOLD] if request["op"] == "list" else {**TOLD, "bytes": 512}}

    listed, _ = run("list", handler=handler)
    described, _ = run("describe", "u", handler=handler)
    assert listed.stdout.split()[:4] == ["uid", "kind", "dataset", "scope"]
    assert "bitmaps" in described.stdout
    assert "512" in described.stdout
    as_json, _ = run("list", "--json", handler=handler)
    assert json.loads(as_json.stdout) == [TOLD]


MANY = {**TOLD, "tuples": 123_456_789, "streams": 5000, "bytes": 271_828_182}


def listed_in_80_columns(*synopses):
    result, _ = run("list", handler=lambda r: {"value": [*synopses]}, env={"COLUMNS": "80"})
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert max(map(len, lines)) <= 80
    return lines, result.stderr


def test_a_list_is_readable_in_80_columns() -> None:
    one = {**MANY, "dataset": "vessels of the Aegean", "scope": {"stream": "EURUSD"}}
    lines, left_out = listed_in_80_columns({**MANY, "uid": "trades", "kind": "count_min"}, one)
    assert " ".join(lines[1].split()) == "uid kind dataset scope tuples streams memory"
    figures = "trades count_min d stream 123,456,789 5,000 272 MB"
    assert " ".join(lines[3].split()) == figures
    assert left_out == ""


@pytest.mark.parametrize("length", [30, 63, 76])
def test_a_long_uid_stays_whole_and_other_columns_go(length) -> None:
    uid = "u" * length
    lines, left_out = listed_in_80_columns({**MANY, "uid": uid, "kind": "lossy_counting"}, MANY)
    assert lines[3].split()[0] == uid
    assert "streams, memory" in left_out or length == 30


def test_a_uid_longer_than_a_line_is_folded_not_cut() -> None:
    lines, left_out = listed_in_80_columns({**MANY, "uid": "u" * 200})
    assert sum(line.split()[0].count("u") for line in lines[3:] if line) == 200
    assert left_out == ""


def test_an_empty_list_says_so() -> None:
    result, _ = run("list", "--dataset", "d", handler=lambda request: {"value": []})
    assert result.stdout == "There are no synopses of d.\n"


def exported(state):
    return lambda request: {"value": base64.b64encode(state).decode()}


def test_export_writes_the_state_to_a_file(tmp_path) -> None:
    path = tmp_path / "traders.sketch"
    words = ("export", "traders", "--stream", "EURUSD", "--format", "datasketches")
    result, transport = run(*words, "--output", str(path), handler=exported(b"\x00state"))
    assert path.read_bytes() == b"\x00state"
    assert result.stdout == f"6 bytes written to {path}\n"
    (request,) = transport.requests
    del request["id"]
    assert request == {
        "op": "export",
        "uid": "traders",
        "stream": "EURUSD",
        "format": "datasketches",
    }


def test_export_in_json_prints_base64() -> None:
    result, _ = run("export", "u", "--json", handler=exported(b"\x00state"))
    told = {"uid": "u", "format": "native", "bytes": 6}
    assert json.loads(result.stdout) == {**told, "state": "AHN0YXRl"}


def test_a_file_that_cannot_be_written_is_named(tmp_path) -> None:
    path = tmp_path / "none" / "u.sketch"
    result, _ = run("export", "u", "--output", str(path), handler=exported(b""))
    assert result.exit_code == 1
    assert str(path) in result.stderr
    refused, _ = run("export", "u", "--output", str(path), handler=fault("unknown_synopsis"))
    assert "sde list" in refused.stderr


def test_delete_takes_several() -> None:
    result, transport = run("delete", "a", "b")
    assert result.exit_code == 0
    assert [request["uid"] for request in transport.requests] == ["a", "b"]
    assert result.stdout == "a\nb\n"


def test_delete_names_what_is_gone_though_another_was_refused() -> None:
    def answer(request):
        return fault("unknown_synopsis")(request) if request["uid"] == "b" else {}

    result, _ = run("delete", "a", "b", handler=answer)
    assert (result.exit_code, result.stdout) == (1, "a\n")


def test_send_sends_a_file(tmp_path) -> None:
    path = tmp_path / "ticks.csv"
    path.write_text("StockID,price\nA,1\nB,2\n")
    result, transport = run("send", str(path), "--dataset", "Forex", "--stream", "StockID")
    assert result.exit_code == 0
    assert result.stdout.startswith("2 tuples sent")
    assert [each["stream"] for each in transport.tuples] == ["A", "B"]
    as_json, _ = run("send", str(path), "--dataset", "Forex", "--stream", "StockID", "--json")
    assert json.loads(as_json.stdout)["tuples"] == 2


def test_a_refusal_ends_with_1_and_tells_code_and_field() -> None:
    result, _ = run(
        "delete", "u", handler=fault("unknown_synopsis", "uid='u': expected ...", "uid")
    )
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "unknown_synopsis: uid='u': expected ... (field uid)" in result.stderr
    assert "sde list" in result.stderr


def test_a_refusal_in_json_is_json() -> None:
    result, _ = run("delete", "u", "--json", handler=fault("unknown_synopsis", "no", "uid"))
    told = json.loads(result.stderr)
    assert (told["code"], told["message"], told["field"]) == ("unknown_synopsis", "no", "uid")


def test_a_misspelt_kind_or_parameter_is_named_right_in_the_hint() -> None:
    kind, _ = run("create", "countmin", "--dataset", "d", handler=fault("unknown_kind"))
    assert "Did you mean count_min?" in kind.stderr
    refused = fault("bad_parameter", field="params.epsilom")
    name, _ = run("create", "count_min", "--dataset", "d", "epsilom=1", handler=refused)
    assert "Did you mean epsilon?" in name.stderr


def test_a_bad_query_points_to_the_questions() -> None:
    result, _ = run("estimate", "u", handler=fault("bad_query"))
    assert "sde kinds" in result.stderr


@pytest.mark.parametrize(
    "text",
    ["stream,trader\nEURUSD,ann\n", '{"stream": "EURUSD", "trader": "ann"}\n'],
    ids=["csv", "ndjson"],
)
def test_send_reads_standard_input(text) -> None:
    transport = InMemoryTransport()
    words = ["send", "-", "--dataset", "Forex", "--json"]
    result = CliRunner().invoke(main, words, obj=transport, input=text)
    assert json.loads(result.stdout)["tuples"] == 1
    sent = {"dataset": "Forex", "stream": "EURUSD", "values": {"trader": "ann"}}
    assert transport.tuples == [sent]


def test_a_bad_line_ends_send_with_its_number() -> None:
    words, lines = ["send", "-", "--dataset", "d"], '{"stream": "s"}\n{"stream": []}\n'
    result = CliRunner().invoke(main, words, obj=InMemoryTransport(), input=lines)
    assert result.exit_code == 1
    assert "standard input, line 2: stream=[]: expected" in result.stderr


def test_silence_ends_with_3() -> None:
    result, _ = run("list", "--timeout", "0.01", handler=lambda request: None)
    assert result.exit_code == 3
    assert "no answer" in result.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["create", "fm"],
        ["create", "fm", "--dataset", "d", "epsilon"],
        ["create", "fm", "--dataset", "d", "key=StockID"],
        ["create", "fm", "--dataset", "d", "--scope", "all"],
        ["estimate", "key=AAPL"],
        ["estimate", "u", "stream=EURUSD"],
        ["send", "missing.csv", "--dataset", "d"],
        ["export", "u"],
        ["export", "u", "--json", "--format", "pickle"],
        ["kinds", "countmin"],
        ["nonsense"],
    ],
)
def test_wrong_usage_ends_with_2(args) -> None:
    result, transport = run(*args)
    assert result.exit_code == 2
    assert transport.requests == []


def test_help_of_create_lists_the_kinds() -> None:
    result, _ = run("create", "--help")
    assert all(kind in result.stdout for kind in catalogue.kinds())
    assert "sde kinds KIND" in result.stdout


def as_read(declared):
    return json.loads(msgspec.json.encode(declared))


def test_kinds_shows_what_is_declared() -> None:
    every, _ = run("kinds")
    assert all(kind in every.stdout for kind in catalogue.kinds())
    as_json, _ = run("kinds", "--json")
    assert json.loads(as_json.stdout) == as_read(list(catalogue.kinds().values()))


@pytest.mark.parametrize("kind", list(catalogue.kinds()))
def test_every_kind_is_explained(kind) -> None:
    told = catalogue.kinds()[kind]
    result, _ = run("kinds", kind)
    assert result.exit_code == 0
    assert all(name in result.stdout for name in told.parameter_names + told.question_names)
    as_json, _ = run("kinds", kind, "--json")
    assert json.loads(as_json.stdout) == as_read(told)


@pytest.mark.parametrize(
    ("command", "module"),
    [("serve", "service"), ("gateway", "service.gateway"), ("demo", "clients.demo")],
)
def test_serve_and_demo_pass_all_their_words_on(monkeypatch, command, module) -> None:
    became = []
    monkeypatch.setattr(os, "execv", lambda path, args: became.append((path, args)))
    run(command, "--data-dir", "x", "--help", "-X", "a=b")
    words = [sys.executable, "-P", "-m", module, "--data-dir", "x", "--help", "-X", "a=b"]
    assert became == [(sys.executable, words)]


def test_serve_without_the_engine_says_how_to_install_it(monkeypatch) -> None:
    monkeypatch.setattr("clients.cli.engine._NEEDED", ("no_such_package",))
    result, _ = run("serve")
    assert result.exit_code == 1
    assert "pip install 'synopses-data-engine[engine]'" in result.stderr
