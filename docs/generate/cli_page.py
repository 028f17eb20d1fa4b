"""docs/reference/cli.md: every command of `sde`, from its declaration."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence

import click

from clients.cli import main
from clients.cli.session import connected
from docs.generate import markdown
from docs.generate.markdown import code

_INTRODUCTION = """\
`sde COMMAND --help` prints the same. A command ends with 0; with 1 for an error or a refusal, 2 for
wrong usage, 3 for a time-out. `--json` prints JSON for scripts.

Commands that talk to an engine find the one whose `sde-data` folder is in the current folder (or
in `SDE_DATA_DIR`). The connection options name another:"""
_CONNECTS = "And the connection options."
_SERVICE = {
    "serve": "Its flags are the [settings](settings.md).",
    "gateway": "Its flags are `--config`, `--http`, `--bootstrap-servers`, `--data-dir` and `-X`: "
    "see [HTTP](../how-to/http.md).",
    "demo": "It starts an engine of its own.",
}


def text() -> str:
    connection = _connection_options()
    sections = [
        _section(path, command, {p.name for p in connection})
        for path, command in _commands("sde", main)
    ]
    return markdown.page("Command line", _INTRODUCTION, _options(connection), *sections)


def _connection_options() -> list[click.Parameter]:
    return click.command()(connected(lambda session: None)).params


def _commands(path: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
    """All commands with their full names, in the order that `sde --help` lists them."""
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from _commands(f"{path} {name}", command)


def _section(path: str, command: click.Command, shared: set[str | None]) -> str:
    context = click.Context(command, info_name=path)
    own = [p for p in command.params if p.name not in shared and isinstance(p, click.Option)]
    connects = shared <= {p.name for p in command.params}
    return "\n\n".join(
        filter(
            None,
            [
                f"## {path}",
                markdown.block(f"{path} {' '.join(command.collect_usage_pieces(context))}"),
                *_help(command),
                _SERVICE.get(command.name or "", ""),
                _options(own) if own else "",
                _CONNECTS if connects else "",
            ],
        )
    )


def _help(command: click.Command) -> Iterator[str]:
    """The paragraphs of its help; one that begins with \\b is an example and keeps its lines."""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            yield markdown.block(paragraph.removeprefix("\b").strip("\n"))
        else:
            yield paragraph.replace("\n", " ")


def _options(options: Sequence[click.Parameter]) -> str:
    rows = []
    for option in options:
        assert isinstance(option, click.Option)
        names = ", ".join(option.opts)
        kind = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
        rows.append([code(names + kind), _meaning(option)])
    return markdown.table(["option", "meaning"], rows)


def _meaning(option: click.Option) -> str:
    words = [option.help or ""]
    if option.required:
        words.append("Required.")
    if isinstance(option.type, click.Choice):
        words.append(f"One of {', '.join(map(code, option.type.choices))}.")
    if option.show_default and option.default is not None:
        words.append(f"Default: {code(str(option.default))}.")
    return " ".join(filter(None, words))
