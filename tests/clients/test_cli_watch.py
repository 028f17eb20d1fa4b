"""`sde watch` and `sde unwatch` over the in-memory transport."""

import json
import os
import signal

import pytest
from click.testing import CliRunner
from rich.console import Console

from clients import Answer, InMemoryTransport
from clients.cli import main, watch
from clients.cli.live import Board


def answers(*values, ended="deleted"):
    """Acknowledges a watch, answers it with the values, and ends it."""

    def handler(request):
        if request["op"] != "watch":
            return {}
        told = [
            {"number": n, "value": value, "lower": value - 1, "upper": value + 1}
            for n, value in enumerate(values, start=1)
        ]
        return [{}, *told, *([{"ended": ended}] if ended else [])]

    return handler


def run(*args, handler, env=None):
    transport = InMemoryTransport(handler)
    result = CliRunner().invoke(main, ["watch", *args], obj=transport, env=env)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result, transport


def test_every_answer_is_a_line_where_there_is_no_terminal() -> None:
    result, transport = run("trades", "key=ann", "--every", "1s", handler=answers(2000, 3.5))
    first, second = (line.split("  ") for line in result.stdout.splitlines())
    assert (first[:2], first[3:]) == (["trades", "#1"], ["2,000", "[1,999 .. 2,001]"])
    assert (second[:2], second[3:]) == (["trades", "#2"], ["3.5", "[2.5 .. 4.5]"])
    assert result.stderr == "trades: the watch ended: deleted\n"
    (request,) = transport.requests
    del request["id"]
    assert request == {"op": "watch", "uid": "trades", "query": {"key": "ann"}, "every": "1s"}


def test_the_words_say_what_is_watched() -> None:
    words = "u --ask pairs threshold=0.9 --on change --threshold 5% --stream s"
    _, transport = run(*words.split(), "--when", ">= 1000", handler=answers())
    (request,) = transport.requests
    assert request["query"] == {"type": "pairs", "threshold": 0.9}
    named = {name: request[name] for name in ("on", "threshold", "stream", "when")}
    assert named == {"on": "change", "threshold": "5%", "stream": "s", "when": ">= 1000"}
    _, transport = run("u", "--on", "change", "--threshold", "5", handler=answers())
    assert transport.requests[0]["threshold"] == 5


def test_json_is_one_reply_a_line() -> None:
    result, transport = run("u", "--every", "1s", "--json", handler=answers(1, 2))
    replies = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["number"] for each in replies] == [1, 2]
    assert {each["request"] for each in replies} == {transport.requests[0]["id"]}


def test_count_ends_it_here_and_in_the_engine() -> None:
    result, transport = run(
        "u", "--on", "close", "--count", "2", handler=answers(1, 2, 3, ended="")
    )
    assert len(result.stdout.splitlines()) == 2
    begun, ended = transport.requests
    assert (ended["op"], ended["watch"]) == ("unwatch", begun["id"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_end_it_in_the_engine_and_are_no_error(monkeypatch, number) -> None:
    def interrupted(seconds):
        if number == signal.SIGINT:  # which tests that run in the background may not hear
            raise KeyboardInterrupt
        os.kill(os.getpid(), number)

    monkeypatch.setattr(watch.time, "sleep", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    result, transport = run("u", "--every", "1s", handler=answers(1, ended=""))
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1
    assert [each["op"] for each in transport.requests] == ["watch", "unwatch"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_second_sigterm_does_not_keep_it_from_ending_the_watch(monkeypatch) -> None:
    """timeout(1) sends two."""
    begin = answers(1, ended="")

    def handler(request):
        if request["op"] == "unwatch":
            os.kill(os.getpid(), signal.SIGTERM)
        return begin(request)

    monkeypatch.setattr(watch.time, "sleep", lambda _: os.kill(os.getpid(), signal.SIGTERM))
    result, transport = run("u", "--every", "1s", handler=handler)
    assert (result.exit_code, result.stderr) == (0, "")
    assert [each["op"] for each in transport.requests] == ["watch", "unwatch"]


def test_several_synopses_have_a_watch_each() -> None:
    result, transport = run("a", "b", "a", "--every", "1s", handler=answers(1))
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["a", "b"]
    assert [request["uid"] for request in transport.requests] == ["a", "b"]


def test_if_one_is_refused_the_others_are_ended() -> None:
    def handler(request):
        fault = {"status": "error", "code": "unknown_synopsis", "message": "no", "field": "uid"}
        return fault if request.get("uid") == "b" else {}

    result, transport = run("a", "b", "c", "--every", "1s", handler=handler)
    assert result.exit_code == 1
    assert "unknown_synopsis" in result.stderr
    assert "sde list" in result.stderr
    by_id = {each["id"]: each["uid"] for each in transport.requests if each["op"] == "watch"}
    ended = {by_id[each["watch"]] for each in transport.requests if each["op"] == "unwatch"}
    assert ended == {"a", "c"}


def test_an_answer_the_engine_could_not_give_is_shown_and_the_watch_goes_on() -> None:
    failed = {"number": 1, "status": "error", "code": "unknown_stream", "message": "no"}
    replies = [{}, failed, {"number": 2, "value": 5}, {"ended": "deleted"}]
    result, _ = run("u", "--every", "1s", handler=lambda request: replies)
    first, second = result.stdout.splitlines()
    assert "unknown_stream: no" in first
    assert second.endswith("  5")


def test_a_closed_window_and_a_condition_are_shown() -> None:
    told = {"number": 1, "value": 5, "window": {"start": 0, "end": 1500}}
    replies = [{}, {**told, "holds": True}, {**told, "number": 2, "holds": False}, {"ended": "x"}]
    result, _ = run("u", "--on", "close", handler=lambda request: replies)
    first, second = result.stdout.splitlines()
    assert first == "u  #1  1970-01-01T00:00:00Z .. 1970-01-01T00:00:01.500Z  5  holds"
    assert second.endswith("does not hold")


def test_a_terminal_gets_a_table_that_is_drawn_again() -> None:
    env = {"TTY_COMPATIBLE": "1", "COLUMNS": "120"}
    result, _ = run("u", "--every", "1s", handler=answers(11, 22), env=env)
    assert result.stdout.count("number") > 1
    assert result.stdout.index("11") < result.stdout.index("22")
    assert "\x1b[" in result.stdout


def drawn(board: Board, width: int = 120) -> list[list[str]]:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(board.table())
    return [line.split() for line in captured.get().splitlines() if line.strip(" ─")]


def answer(number, value, **more) -> Answer:
    window = {"start": 0, "end": 60_000}
    return Answer.of({"number": number, "value": value, "window": window, **more})


def test_the_table_of_one_watch_has_a_row_for_each_of_the_latest_answers() -> None:
    board = Board(several=False)
    for number in range(1, 31):
        board.add("u", answer(number, 100 + number, lower=[1]))
    head, *rows = drawn(board)
    assert head == ["uid", "number", "from", "to", "value", "lower"]
    assert [row[1] for row in rows] == [str(number) for number in range(11, 31)]
    assert rows[0][2:] == ["1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z", "111", "[1]"]


def test_the_table_of_several_watches_has_a_row_for_each_that_changes() -> None:
    board = Board(several=True)
    board.add("[red]a", answer(1, 5))
    board.add("b", answer(1, 6))
    board.add("[red]a", answer(2, 7, holds=True))
    head, first, second = drawn(board)
    assert head[-1] == "holds"
    assert (first[0], first[1], first[-2:]) == ("[red]a", "2", ["7", "true"])
    assert (second[0], second[1], second[-1]) == ("b", "1", "6")


def test_a_long_value_stays_in_its_line() -> None:
    board = Board(several=False)
    board.add("u", answer(1, [{"key": "x" * 50, "weight": n} for n in range(100)]))
    head, row = drawn(board)
    assert head == ["uid", "number", "from", "to", "value"]
    assert row[3] == "1970-01-01T00:01:00Z"
    assert row[4].endswith("…")


def test_a_long_uid_is_not_cut() -> None:
    board = Board(several=True)
    board.add("u" * 55, answer(1, 5))
    _, row = drawn(board, width=80)
    assert row[0] == "u" * 55


@pytest.mark.parametrize(
    "args",
    [
        ["u"],
        ["--every", "1s", "key=x"],
        ["u", "--on", "tick"],
        ["u", "every=1s"],
        ["u", "--count", "0"],
    ],
)
def test_wrong_usage_ends_with_2(args) -> None:
    result, transport = run(*args, handler=answers())
    assert result.exit_code == 2
    assert transport.requests == []


def test_unwatch_takes_several() -> None:
    transport = InMemoryTransport()
    result = CliRunner().invoke(main, ["unwatch", "a", "b", "--json"], obj=transport)
    assert json.loads(result.stdout) == {"unwatched": ["a", "b"]}
    assert [(r["op"], r["watch"]) for r in transport.requests] == [("unwatch", w) for w in "ab"]
