"""The gateway as a process: what it imports, how it starts, and that it ends with its engine."""

import json
import os
import re
import socket
import subprocess
import sys

import pytest

from service.engine.gateway_process import GatewayProcess, settings_line
from service.gateway import __main__ as command
from service.http_settings import HttpSettings, HttpToken
from service.settings import Settings, load, read_settings
from tests.docs.markdown_pages import ROOT, pages
from tests.service.gateway.conftest import wait_until

HEAVY = ("pyspark", "numba", "pandas", "pyarrow", "synopses")


def test_importing_the_gateway_is_light():
    code = f"import sys, service.gateway.__main__; print(*(set({HEAVY}) & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == ""


def run(*words: str, monkeypatch) -> int:
    monkeypatch.setattr(sys, "argv", ["sde gateway", *words])
    return command.main()


def test_a_token_is_printed_once_with_the_table_that_lets_it_in(monkeypatch, capsys, tmp_path):
    words = ("token", "ui", "--scopes", "read,write", "--datasets", "Forex")
    assert run(*words, monkeypatch=monkeypatch) == 0
    printed = capsys.readouterr().out
    file = tmp_path / "sde.toml"
    file.write_text(printed.partition("for the file of --config:")[2])
    assert load(file, {}, {}).http.tokens["ui"].datasets == ("Forex",)
    assert len(re.findall(r"sde_[\w-]{40,}", printed)) == 1


@pytest.mark.parametrize(
    "words",
    [("ui", "--scopes", "all"), ("u i",), ("ui", "--expires", "soon"), ("ui", "--datasets", '"')],
)
def test_a_token_that_the_settings_would_refuse_is_not_made(monkeypatch, capsys, words):
    assert run("token", *words, monkeypatch=monkeypatch) == command.EXIT_SETTINGS
    assert "sde_" not in capsys.readouterr().out


def test_an_address_that_everybody_reaches_needs_tokens(monkeypatch, capsys):
    assert run("--http", "0.0.0.0:0", monkeypatch=monkeypatch) == command.EXIT_SETTINGS
    assert "sde gateway token NAME" in capsys.readouterr().err


def test_without_an_engine_it_says_what_to_do(monkeypatch, capsys, tmp_path):
    words = ("--data-dir", str(tmp_path))
    assert run(*words, monkeypatch=monkeypatch) == command.EXIT_ERROR
    assert "No engine is known here" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        words = ("--http", address, "--bootstrap-servers", "127.0.0.1:1")
        assert run(*words, monkeypatch=monkeypatch) == command.EXIT_ERROR
    assert "in use" in capsys.readouterr().err


def settings(listen: str, tmp_path) -> Settings:
    token = HttpToken("0" * 64, ("read",), ("Forex",), "2030-01-01")
    http = HttpSettings(listen=listen, tokens={"ui": token})
    kafka = {"sasl.password": "secret"}
    return Settings(bootstrap_servers="127.0.0.1:1", kafka=kafka, data_dir=tmp_path, http=http)


def test_the_gateway_learns_the_settings_of_its_engine(tmp_path):
    mine = settings("127.0.0.1:8088", tmp_path)
    assert read_settings(json.loads(settings_line(mine))) == mine


def test_an_engine_starts_its_gateway_and_ends_it(tmp_path, capfd):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = (sys.executable, "-m", "service.gateway", "--from-engine")
    gateway = GatewayProcess(settings(f"127.0.0.1:{port}", tmp_path), print, words)
    gateway.start()
    gateway.wait()
    socket.create_connection(("127.0.0.1", port)).close()
    process = gateway._process
    told = ""

    def has_begun():
        nonlocal told
        told += capfd.readouterr().out
        return f"HTTP at http://127.0.0.1:{port}" in told

    wait_until(has_begun, 60)
    command_line = subprocess.check_output(["ps", "-o", "args=", "-p", str(process.pid)], text=True)
    assert "secret" not in command_line
    gateway.check()
    assert process.poll() is None
    gateway.stop()
    assert process.returncode == 0


def test_a_gateway_that_ends_is_started_again_after_a_while(tmp_path, monkeypatch):
    said = []
    words = (sys.executable, "-c", "pass")
    gateway = GatewayProcess(settings("127.0.0.1:1", tmp_path), said.append, words)
    gateway.start()
    first = gateway._process
    first.wait()
    gateway.wait()  # for nothing
    gateway.check()
    assert gateway._process is first
    monkeypatch.setattr("service.engine.gateway_process._SECONDS_BETWEEN_STARTS", 0.0)
    gateway.check()
    assert gateway._process is not first
    assert "starts again" in said[0]
    gateway.stop()


def test_an_engine_without_an_address_has_no_gateway(tmp_path):
    gateway = GatewayProcess(Settings(data_dir=tmp_path), print, ("false",))
    gateway.start()
    gateway.check()
    gateway.stop()
    assert gateway._process is None


def page_blocks(language: str) -> list[str]:
    (page,) = [page for page in pages() if page.path == ROOT / "docs" / "how-to" / "http.md"]
    return [block.text for block in page.blocks if block.language == language]


@pytest.mark.skipif(os.system("curl --version > /dev/null") != 0, reason="no curl")
def test_the_first_ten_minutes_of_the_page_run_as_shown(served):
    (script,) = [text for text in page_blocks("text") if "curl -sS $url/readyz" in text]
    shown = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace("http://127.0.0.1:8088", served.url)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert shown.returncode == 0, shown.stderr
    decoder, replies, rest = json.JSONDecoder(), [], shown.stdout
    while rest:
        reply, end = decoder.raw_decode(rest)
        replies.append(reply)
        rest = rest[end:]
    ready, made, sent, asked, several, watch, listed, described, *ends = replies
    assert (ready["status"], made["uid"], sent["tuples"], asked["value"]) == ("ok", "trades", 2, 1)
    assert [each["status"] for each in several] == [200, 200]
    assert (watch["watch"], listed["value"][0]["uid"]) == ("ann", "trades")
    assert described["value"]["tuples"] == 2
    assert [each["status"] for each in ends] == ["ok", "ok"]
