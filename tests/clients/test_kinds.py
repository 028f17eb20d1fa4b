"""Kinds as users read of them, with examples that run."""

import json
import shlex

import pytest
from click.testing import CliRunner

from clients import Client, InMemoryTransport, Kind, Refused
from clients.cli import main
from clients.kind_examples import example_fields, python_example, shell_example
from clients.kinds import fields_text, library_kinds
from sde.testing import LocalTransport
from tests.plugin_sources import TOTAL

KINDS = library_kinds()
START = 1_700_000_000_000


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_example_in_python_runs(kind) -> None:
    sde = Client(LocalTransport(), timeout=0.0)
    create, *questions = python_example(kind)
    scope = {"sde": sde}
    exec(create, scope)
    send(sde, kind)
    assert questions
    for question in questions:
        assert eval(question, scope).value is not None, question


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_example_in_the_shell_runs(kind) -> None:
    transport = LocalTransport()
    create, *questions = shell_example(kind)
    run(create, transport)
    send(Client(transport, timeout=0.0), kind)
    for question in questions:
        assert run(question, transport).strip()


def send(sde: Client, kind: Kind) -> None:
    """Tuples with the fields that the example names, of two streams."""
    _, values = example_fields(kind)
    for i in range(800):
        row = {"trader": str(i % 3), **dict.fromkeys(values, 10.0 + i * 7 % 11)}
        sde.send("Forex", "a", row, START + i * 500)
        sde.send("Forex", "b", row, START + i * 500)
    sde.flush()


def run(line: str, transport) -> str:
    program, *words = shlex.split(line)
    assert program == "sde"
    result = CliRunner().invoke(main, words, obj=transport)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_a_kind_is_said_to_need_is_what_the_engine_wants(kind) -> None:
    sde = Client(LocalTransport(), timeout=0.0)
    key, values = example_fields(kind)
    definition = {"dataset": "d", "scope": kind.scopes[-1], "key": key or None, "value": values}
    sde.create(kind.kind, **definition)
    if kind.needs_key:
        refused(sde, kind, {**definition, "key": None})
    if kind.value_is_optional:
        sde.create(kind.kind, **{**definition, "value": None})
    elif values:
        refused(sde, kind, {**definition, "value": None})
        more = {**definition, "value": [*values, "another"]}
        if isinstance(kind.values_needed, int):
            refused(sde, kind, more)
        else:
            sde.create(kind.kind, **more)
    if "dataset" not in kind.scopes:
        refused(sde, kind, {**definition, "scope": "dataset"})
        refused(sde, kind, {**definition, "window": "5m"})
    else:
        sde.create(kind.kind, **{**definition, "window": "5m"})


def refused(sde: Client, kind: Kind, definition) -> None:
    with pytest.raises(Refused):
        sde.create(kind.kind, **definition)


def test_the_text_of_a_kind_names_fields_scopes_windows_parameters_questions() -> None:
    text = str(KINDS["trajectory"])
    assert "4 fields of numbers, in this order: latitude, longitude, course, speed" in text
    assert 'Scopes: stream, {"stream": NAME}' in text
    assert "Windows: none" in text
    assert "min_distance=100.0: keep after this distance; a number at least 0" in text
    assert "track(limit=0)" in text
    assert "In Python" in text
    assert max(map(len, str(KINDS["quantiles"]).splitlines())) <= 88


def test_help_of_create_tells_which_fields_each_kind_needs() -> None:
    for name, kind in KINDS.items():
        assert f"{name}: {fields_text(kind)}" in Client.create.__doc__


def test_the_client_lists_the_kinds_with_those_of_plugins(tmp_path) -> None:
    file = tmp_path / "total.py"
    file.write_text(TOTAL)
    transport = LocalTransport()
    sde = Client(transport, timeout=60.0)
    sde.add_plugin(file)
    kinds = {each.kind: each for each in sde.kinds()}
    assert list(kinds) == sorted([*KINDS, "total@1"])
    assert kinds["count_min"] == KINDS["count_min"]
    total = kinds["total@1"]
    assert (total.parameter_names, total.question_names) == (["factor"], ["total"])
    assert (total.guarantee, fields_text(total)) == ("exact", "value")
    shown = run("sde kinds total@1 --plugins", transport)
    assert run("sde kinds total --plugins", transport) == shown
    assert "factor=1.0: what the sum is multiplied with; a number above 0" in shown
    assert "total@1" in run("sde kinds --plugins", transport)


def test_kinds_of_an_engine_that_tells_nothing_of_plugins_are_those_of_the_library() -> None:
    older = InMemoryTransport(lambda request: {"value": [{"name": "x", "state": "active"}]})
    assert [each.kind for each in Client(older).kinds()] == list(KINDS)


# -- which parameter for which error --------------------------------------------------------------


def test_the_command_line_suggests_the_parameter_for_an_error() -> None:
    assert run("sde kinds quantiles --error 0.001", None) == "k=2863\n"
    assert run("sde kinds count_min --error 0.0123", None) == "epsilon=0.01\n"
    chosen = json.loads(run("sde kinds hyperloglog --error 0.02 --json", None))
    assert chosen == {"parameter": "lg_k", "value": 15, "error": 0.02, "memory": 32768}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("moments --error 0.1", "moments has no parameter that decides its error"),
        ("hyperloglog --error 1e-9", "expected at least 0.005 for hyperloglog"),
        ("--error 0.1", "expected with the name of a kind"),
    ],
)
def test_an_error_that_no_parameter_gives_is_refused(words, says) -> None:
    result = CliRunner().invoke(main, ["kinds", *words.split()])
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_suggested_parameter_is_one_that_the_engine_takes() -> None:
    sde = Client(LocalTransport(), timeout=0.0)
    for kind in KINDS.values():
        if kind.sizes is not None:
            key, values = example_fields(kind)
            chosen = {kind.sizes.parameter: kind.sizes.choices[0].value}
            sde.create(kind.kind, dataset="d", key=key or None, value=values, **chosen)


def test_kinds_come_by_name_with_the_question_that_each_answers() -> None:
    kinds = Client(LocalTransport(), timeout=0.0).kinds()
    assert [each.kind for each in kinds] == sorted(each.kind for each in kinds)
    frame = kinds.to_pandas().set_index("kind")
    assert frame["question"]["hyperloglog"] == "How many distinct keys?"
    assert "question" in run("sde kinds", LocalTransport())


def test_a_large_limit_is_told_as_a_power_of_ten() -> None:
    assert "at most 1e300" in " ".join(str(KINDS["log_histogram"]).split())
