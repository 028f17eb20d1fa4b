"""SDK and command line can say every field of every message that `sde.wire` declares."""

import base64
import inspect
import typing

import click
import pytest
from click.testing import CliRunner
from msgspec import structs

from clients import Client, InMemoryTransport, SynopsisHandle
from clients.cli import main
from clients.handle import Each, ExportFormat, Occasion, Scope
from sde import wire
from sde.wire.windows import WindowMessage

MESSAGES = typing.get_args(wire.Request)

# How the method, or command, of a message is called. (An estimate of all streams has its own.)
METHODS = {
    "create": "create",
    "delete": "delete",
    "estimate": "estimate",
    "watch": "watch",
    "unwatch": "unwatch",
    "watches": "watches",
    "export": "export",
    "import": "import_state",
    "list": "list",
    "describe": "describe",
    "streams": "streams",
    "snapshot": "snapshot",
    "restore": "restore",
    "snapshots": "snapshots",
    "remove_snapshot": "remove_snapshot",
    "plugin": "add_plugin",
    "plugins": "plugins",
    "unplug": "remove_plugin",
    "release": "release_plugin",
    "sites": "sites",
    "source": "add_source",
    "unsource": "remove_source",
    "sources": "sources",
    "preview": "preview_source",
}
COMMANDS = {
    **{op: (op,) for op in METHODS},
    "remove_snapshot": ("remove-snapshot",),
    "plugin": ("plugin", "add"),
    "plugins": ("plugin", "list"),
    "unplug": ("plugin", "remove"),
    "release": ("plugin", "release"),
    "source": ("source", "add"),
    "unsource": ("source", "remove"),
    "sources": ("source", "list"),
    "preview": ("source", "try"),
}

# Fields that an argument of another name says; all others have their own name.
OF_QUESTIONS = {"uid": "synopses", "uids": "synopses", "from": "span", "to": "span"}
OTHER_ARGUMENT = {
    "estimate": OF_QUESTIONS,
    "watch": OF_QUESTIONS,
    "unwatch": {"watch": "watch_id"},
    "export": {"from": "span", "to": "span"},
    "import": {"mode": "replace"},
    "restore": {"as": "as_uid"},
    "source": {"from": "start"},
    "plugin": {"source": "path", "sha256": "path", "signature": "key"},
}
WORDS = {"uid": "words", "uids": "words", "query": "words"}
OTHER_OPTION = {
    "delete": {"uid": "uids"},
    "estimate": WORDS,
    "watch": WORDS,
    "unwatch": {"watch": "ids"},
    "import": {"state": "file", "mode": "replace"},
    "plugin": {"source": "file", "sha256": "file", "signature": "key"},
}
# Fields that only another method says: of all streams.
OF_ANOTHER_METHOD = {"estimate": {"top": "estimate_streams"}}
# Fields that the client says by itself: it fetches all pages.
BY_THE_CLIENT = {"after", "limit"}
OTHER_WINDOW_OPTION = {"type": "session-gap", "size": "window", "gap": "session-gap"}

# Arguments of methods that are in no message, or only a part of a field.
BESIDE_FIELDS = {
    "preview": {"limit"},
    "estimate": {"question", "arguments"},
    "watch": {"question", "arguments", "timeout"},
}


def fields(message) -> set[str]:
    """What the message has on the wire; `id` is for `Client.submit`, which repeats requests."""
    return {field.encode_name for field in structs.fields(message)} - {"id"} - BY_THE_CLIENT


def op_of(message) -> str:
    return message.__struct_config__.tag


def arguments(method) -> set[str]:
    """With what a mapping of further arguments may have."""
    found = set(inspect.signature(method).parameters) - {"self"}
    more = typing.get_args(typing.get_type_hints(method).get("mapping"))
    return found - {"mapping"} | set(more[0].__annotations__) if more else found


def command_of(op: str) -> click.Command:
    command = main
    for name in COMMANDS[op]:
        command = command.commands[name]
    return command


def options(command: click.Command) -> set[str]:
    return {word.lstrip("-") for param in command.params for word in param.opts}


def choices(op: str, option: str) -> tuple[str, ...]:
    (found,) = [param for param in command_of(op).params if f"--{option}" in param.opts]
    return tuple(found.type.choices)


def declared_choices(message, field: str) -> set[str]:
    """The texts that a field may have."""
    hint = typing.get_type_hints(message)[field]
    parts = typing.get_args(hint)
    nested = [typing.get_args(part) or (part,) for part in parts]
    return {text for texts in nested for text in texts if isinstance(text, str)}


@pytest.mark.parametrize("message", MESSAGES, ids=op_of)
def test_every_field_is_an_argument_of_the_method(message) -> None:
    other = OTHER_ARGUMENT.get(op_of(message), {})
    elsewhere = OF_ANOTHER_METHOD.get(op_of(message), {})
    expected = {other.get(name, name) for name in fields(message) - elsewhere.keys()}
    found = arguments(getattr(Client, METHODS[op_of(message)]))
    for name, method in elsewhere.items():
        assert name in arguments(getattr(Client, method))
    assert found == expected | BESIDE_FIELDS.get(op_of(message), set())
    assert other.keys() <= fields(message)


@pytest.mark.parametrize("message", MESSAGES, ids=op_of)
def test_every_field_is_an_option_of_the_command(message) -> None:
    other = OTHER_OPTION.get(op_of(message), {})
    expected = {other.get(name, name) for name in fields(message)}
    assert expected <= options(command_of(op_of(message)))
    assert other.keys() <= fields(message)


def test_every_field_of_a_window_is_an_option_of_create() -> None:
    expected = {OTHER_WINDOW_OPTION.get(name, name) for name in fields(WindowMessage)}
    assert expected <= options(command_of("create"))


def test_a_submit_method_takes_what_the_one_that_waits_takes() -> None:
    for name in ("create", "estimate", "watch"):
        waits, submits = getattr(Client, name), getattr(Client, f"submit_{name}")
        assert inspect.signature(waits).parameters == inspect.signature(submits).parameters
        assert waits.__doc__ == submits.__doc__
        assert waits.__name__ == name


@pytest.mark.parametrize(
    "name",
    [
        "estimate",
        "estimate_streams",
        "streams",
        "watch",
        "export",
        "import_state",
        "snapshot",
        "restore",
        "delete",
        "describe",
    ],
)
def test_a_handle_takes_what_the_client_takes_of_one_synopsis(name) -> None:
    of_client = inspect.signature(getattr(Client, name)).parameters
    of_handle = inspect.signature(getattr(SynopsisHandle, name)).parameters
    beside = {"self", "others", "uid", "synopses"}
    assert {k: v for k, v in of_handle.items() if k not in beside} == {
        k: v for k, v in of_client.items() if k not in beside
    }


def test_the_choices_are_those_that_are_declared() -> None:
    occasions = declared_choices(wire.Watch, "on")
    assert set(typing.get_args(Occasion)) == set(choices("watch", "on")) == occasions
    subjects = declared_choices(wire.Watch, "each")
    assert set(typing.get_args(Each)) == set(choices("watch", "each")) == subjects
    forms = set(typing.get_args(typing.get_type_hints(wire.Export)["format"]))
    assert set(typing.get_args(ExportFormat)) == set(choices("export", "format")) == forms
    scopes = typing.get_args(typing.get_args(Scope)[0])
    assert set(scopes) == declared_choices(wire.Create, "scope")


# -- what is said arrives -------------------------------------------------------------------------

OVER_SITES = {"sites": ["a", "b"], "deadline": "1s"}
PART = {"stream": "s", "end": 5}
OCCASIONS = {"every": "1s", "on": "change", "threshold": 5, "when": "> 5", "each": "key"}
DEFINITION = {"dataset": "d", "key": "k", "value": ["v"], "scope": "stream", "time": "at"}
MAPPING = {
    **{"format": "csv", "dataset": "d", "stream": "s", "time": "at", "fields": {"f": "a + b"}},
    **{"where": "a > 0", "each": "items", "columns": ["a", "b"], "delimiter": ";"},
    **{"schema": "{}", "changes": "debezium"},
}
LIFE = {"uid": "u", "ttl": "1d", "idle": "1h", "reuse": True}
CALLS = {
    "create": [
        lambda sde: sde.create(
            "dft", window={"size": 5}, where="x>1", epsilon=1, **DEFINITION, **LIFE, **OVER_SITES
        )
    ],
    "delete": [lambda sde: sde.delete("u", **OVER_SITES)],
    "estimate": [
        lambda sde: sde.estimate("u", "q", x=1, **PART, **OVER_SITES),
        lambda sde: sde.estimate(["u", "v"], span=(1, 2)),
        lambda sde: sde.estimate_streams("u", "q", x=1, top=3),
    ],
    "watch": [
        lambda sde: sde.watch("u", "q", x=1, drift=1.0, **PART, **OCCASIONS, **OVER_SITES),
        lambda sde: sde.watch(["u", "v"], span=(1, 2)),
    ],
    "unwatch": [lambda sde: sde.unwatch("w")],
    "watches": [lambda sde: sde.watches("u", dataset="d")],
    "export": [
        lambda sde: sde.export("u", format="datasketches", **PART),
        lambda sde: sde.export("u", span=(1, 2)),
    ],
    "import": [lambda sde: sde.import_state("u", b"s", stream="s", replace=True, tuples=5)],
    "list": [lambda sde: sde.list("d")],
    "describe": [lambda sde: sde.describe("u", digest=True)],
    "streams": [lambda sde: sde.streams("u")],
    "snapshot": [lambda sde: sde.snapshot("u", "v1", replace=True, keep=2)],
    "restore": [lambda sde: sde.restore("u", "v1", as_uid="v")],
    "snapshots": [lambda sde: sde.snapshots("u")],
    "remove_snapshot": [lambda sde: sde.remove_snapshot("u", "v1")],
    "plugin": [lambda sde: sde.add_plugin("plugin.py", "x", key="key.pem", migrate=True)],
    "plugins": [lambda sde: sde.plugins()],
    "unplug": [lambda sde: sde.remove_plugin("x", 1)],
    "release": [lambda sde: sde.release_plugin("x", 1)],
    "sites": [lambda sde: sde.sites(deadline="1s")],
    "source": [lambda sde: sde.add_source("s", topic="t", start={0: 5}, **MAPPING)],
    "unsource": [lambda sde: sde.remove_source("s")],
    "sources": [lambda sde: sde.sources()],
    "preview": [lambda sde: sde.preview_source(topic="t", limit=5, **MAPPING)],
}
SITES = "--sites a,b --deadline 1s"
CREATE = "--dataset d --uid u --key k --value v --scope stream --ttl 1d --idle 1h --reuse --time at"
QUESTION = f"u x=1 --ask q --stream s --end 5 {SITES}"
OCCASION = "--every 1s --on change --threshold 5 --when >5 --each key --drift 1"
SOURCE = (
    "--format csv --dataset d --stream s --time at --where a>0 --each items --columns a,b "
    "--delimiter ; --schema plugin.py --changes debezium"
)
LINES = {
    "create": [f"create dft epsilon=1 --window 5 --where x>1 {CREATE} {SITES}"],
    "delete": [f"delete u {SITES}"],
    "estimate": [
        f"estimate {QUESTION}",
        "estimate u v --from 1 --to 2",
        "estimate u --stream * --top 3",
    ],
    "watch": [f"watch {QUESTION} {OCCASION}", "watch u --on close --from 1 --to 2"],
    "unwatch": ["unwatch w"],
    "watches": ["watches u --dataset d"],
    "export": [
        "export u --json --format datasketches --stream s --end 5",
        "export u --json --from 1 --to 2",
    ],
    "import": ["import plugin.py --uid u --stream s --replace --tuples 5"],
    "list": ["list --dataset d"],
    "describe": ["describe u --digest"],
    "streams": ["streams u"],
    "snapshot": ["snapshot u --version v1 --replace --keep 2"],
    "restore": ["restore u --version v1 --as v"],
    "snapshots": ["snapshots u"],
    "remove_snapshot": ["remove-snapshot u --version v1"],
    "plugin": ["plugin add plugin.py --name x --key key.pem --migrate"],
    "plugins": ["plugin list"],
    "unplug": ["plugin remove x --version 1"],
    "release": ["plugin release x --version 1"],
    "sites": ["sites --deadline 1s"],
    "source": [f"source add s t f=a+b --from earliest {SOURCE}"],
    "unsource": ["source remove s"],
    "sources": ["source list"],
    "preview": [f"source try t f=a+b --limit 5 {SOURCE}"],
}


@pytest.fixture
def transport(tmp_path, monkeypatch) -> InMemoryTransport:
    """Accepts everything; a watch ends at once."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plugin.py").write_text("x = 1")
    assert CliRunner().invoke(main, ["plugin", "keygen", "key.pem"]).exit_code == 0
    values = {
        "describe": {},
        "plugin": {},
        "preview": {},
        "export": base64.b64encode(b"state").decode(),
    }

    def handler(request):
        reply = {"value": values.get(request["op"], [])}
        return [reply, {"ended": "deleted"}] if request["op"] == "watch" else reply

    return InMemoryTransport(handler)


def fields_sent(transport) -> set[str]:
    sent = {name for request in transport.requests for name in request}
    return sent - {"op", "id"} - BY_THE_CLIENT


@pytest.mark.parametrize("message", MESSAGES, ids=op_of)
def test_the_client_can_say_every_field(message, transport) -> None:
    for call in CALLS[op_of(message)]:
        call(Client(transport))
    assert {request["op"] for request in transport.requests} == {op_of(message)}
    assert fields_sent(transport) == fields(message)


@pytest.mark.parametrize("message", MESSAGES, ids=op_of)
def test_the_command_line_can_say_every_field(message, transport) -> None:
    for line in LINES[op_of(message)]:
        result = CliRunner().invoke(main, line.split(), obj=transport)
        assert result.exit_code == 0, result.output
    assert {request["op"] for request in transport.requests} == {op_of(message)}
    several = {"uids"} if op_of(message) == "watch" else set()  # each is watched by itself
    assert fields_sent(transport) == fields(message) - several
