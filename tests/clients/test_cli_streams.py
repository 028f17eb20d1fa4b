"""Tables of streams on the command line, with the stages in this process."""

import json

import pytest
from click.testing import CliRunner

from clients import InMemoryTransport
from clients.cli import main
from sde.testing import LocalEngine, LocalTransport


@pytest.fixture
def transport():
    engine = LocalEngine(shards=2)
    create = {"op": "create", "dataset": "d", "kind": "count_min", "key": "k"}
    engine.ask(**create, uid="u", scope="stream")
    engine.ask(**create, uid="whole", id="another")
    rows = [("b", {"k": "x"}), ("a", {"k": "x"}), ("b", {"k": "y"}), ("b", {})]
    engine.send("d", rows)
    return LocalTransport(engine)


def run(transport, *words):
    return CliRunner().invoke(main, words, obj=transport)


def lines(result):
    assert result.exit_code == 0, result.output
    return [line.split() for line in result.stdout.splitlines() if line.strip() and "─" not in line]


def test_an_estimate_of_all_streams_is_a_table_in_the_order_of_names(transport):
    head, *rows = lines(run(transport, "estimate", "u", "--ask", "total", "--stream", "*"))
    assert head == ["stream", "value", "lower", "upper", "tuples"]
    assert rows == [["a", "1", "1", "1", "1"], ["b", "2", "2", "2", "2"]]


def test_top_shows_the_largest_value_first(transport):
    words = ["estimate", "u", "--ask", "total", "--stream", "*", "--top", "1", "--json"]
    (row,) = json.loads(run(transport, *words).stdout)
    assert (row["stream"], row["value"]) == ("b", 2.0)


def test_streams_without_a_value_are_counted_by_their_reasons():
    rows = [
        {"stream": "a", "value": 1.0},
        {"stream": "b", "value": None, "warnings": ["why"]},
        {"stream": "c", "value": None, "warnings": ["why"]},
    ]
    transport = InMemoryTransport(lambda request: {"value": rows})
    result = run(transport, "estimate", "u", "--stream", "*")
    assert [line[0] for line in lines(result)] == ["stream", "a", "b", "c"]
    assert result.stderr == "2 without a value: why\n"


def test_what_streams_with_a_value_warn_of_is_told_of_the_first_ones():
    rows = [{"stream": f"s{n}", "value": 1.0, "warnings": [f"late {n}"]} for n in range(7)]
    rows.append({"stream": "fine", "value": 2.0})
    transport = InMemoryTransport(lambda request: {"value": rows})
    told = run(transport, "estimate", "u", "--stream", "*").stderr.splitlines()
    assert told[:5] == [f"warning: s{n}: late {n}" for n in range(5)]
    assert told[5:] == ["warning: 2 more streams have warnings: --json shows them"]


def test_streams_shows_what_each_stream_holds(transport):
    head, *rows = lines(run(transport, "streams", "u"))
    assert head == ["stream", "tuples", "skipped", "memory"]
    assert [row[:3] for row in rows] == [["a", "1", "0"], ["b", "2", "1"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("estimate u whole --stream *", "expected one UID"),
        ("estimate u --stream * --sites *", "ask each site by itself"),
        ("estimate u --stream a --top 3", "--top: expected with --stream '*'"),
    ],
)
def test_wrong_usage_is_told(words, said, transport):
    result = run(transport, *words.split())
    assert result.exit_code == 2
    assert said in result.output


def test_a_synopsis_of_a_whole_data_set_is_refused_with_the_reason(transport):
    result = run(transport, "streams", "whole")
    assert result.exit_code == 1
    assert 'a synopsis of scope "stream"; this one is of the whole data set' in result.output
