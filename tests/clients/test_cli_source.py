"""Sources on the command line, with the stages in this process."""

import json

import pytest
from click.testing import CliRunner

from clients.cli import main
from sde.testing import LocalEngine, LocalTransport
from sde.testing.messages import messages

MAPPING = ["--dataset", "Trades", "--stream", "symbol", "n=qty"]
ABSENT = "topic 'later' does not exist yet: it will be read when it does"


class OneTopic:
    def names(self):
        return ["trades"]

    def last_messages(self, request):
        return [messages([{"symbol": "A", "qty": 2}], request.topic)]


@pytest.fixture
def engine():
    return LocalEngine(topics=OneTopic())


def run(engine, *words):
    result = CliRunner().invoke(main, ["source", *words], obj=LocalTransport(engine))
    assert result.exit_code == 0, result.output
    return result


def test_a_source_is_listed_with_its_mapping_and_its_dead_letters(engine):
    added = run(engine, "add", "t", "trades", *MAPPING)
    assert (added.stdout, added.stderr) == ("t\n", "")
    engine.send_records("t", [b"no json", {"symbol": "A", "qty": 2}])
    listed = run(engine, "list")
    (row,) = [line.split() for line in listed.stdout.splitlines() if line.lstrip().startswith("t ")]
    assert row == ["t", "trades", "json", "Trades", "symbol", "n=qty", "1"]
    assert listed.stderr == ""


def test_a_topic_that_is_not_there_is_said_on_standard_error(engine):
    added = run(engine, "add", "l", "later", *MAPPING)
    assert (added.stdout, added.stderr) == ("l\n", f"warning: {ABSENT}\n")
    assert run(engine, "list").stderr == f"warning: l: {ABSENT}\n"


def test_a_field_that_no_record_has_is_told_when_a_mapping_is_tried(engine):
    tried = run(engine, "try", "trades", "--dataset", "Trades", "--stream", "symbol", "n=qyt")
    assert tried.stdout.splitlines()[0] == "last 1 tuples of the 1 messages looked at"
    assert tried.stderr == "warning: n: none of these tuples has it\n"


def test_warnings_are_part_of_what_is_printed_as_json(engine):
    added = run(engine, "add", "l", "later", *MAPPING, "--json")
    assert json.loads(added.stdout) == {"name": "l", "warnings": [ABSENT]}
    assert added.stderr == ""
    (listed,) = json.loads(run(engine, "list", "--json").stdout)
    assert listed["warnings"] == [ABSENT]
