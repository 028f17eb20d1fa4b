"""plugin: new kinds for a running engine, from the first line to the last version."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from clients.cli.engine import become
from clients.cli.printing import print_json, print_table
from clients.cli.session import Session, connected, json_option
from clients.errors import Refused
from clients.plugin_template import new_files
from clients.plugins import checked_name, make_key
from clients.wording import time_text
from sde.wire import Code, catalogue

_file = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_name = click.option("--name", help="Its name; that of the file if left out.")


@click.group()
def plugin() -> None:
    """New kinds, written in Python, for an engine that runs.

    \b
    sde plugin new speeding
    sde plugin check speeding.py
    sde plugin keygen
    sde plugin add speeding.py --key plugin-key.pem
    sde create speeding --dataset Cars --value speed limit=50
    """


@plugin.command()
@click.argument("name")
@click.option("--free", is_flag=True, help="A kind whose state is an object, not arrays.")
def new(name: str, free: bool) -> None:
    """Write NAME.py, a kind that works, and test_NAME.py, to change into your own."""
    if keyword.iskeyword(name) or name in catalogue.kinds():
        raise click.UsageError(f"{name!r}: expected a name that is not taken")
    files = new_files(checked_name(name), free=free)
    for file in files:
        if Path(file).exists():
            raise click.ClickException(f"{file} exists already: nothing is written")
    for file, text in files.items():
        try:
            Path(file).write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.FileError(file, error.strerror) from error
        click.echo(file)


@plugin.command()
@_file
@_name
def check(file: Path, name: str | None) -> None:
    """Examine a plug-in here, as the engine does before it takes one."""
    become("sde.plugins.check", (str(file), *([name] if name else [])))


@plugin.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), default="plugin-key.pem")
@json_option
def keygen(file: Path, as_json: bool) -> None:
    """Make a key to sign plug-ins with, in FILE (plugin-key.pem), and print its public half."""
    public = make_key(file)
    if as_json:
        print_json({"file": str(file), "key": public})
        return
    click.echo(public)
    click.echo(
        f"The private key is in {file}: keep it to yourself. Engines that are to take what it"
        f' signs need the setting plugin_keys = ["{public}"], or, without a restart, a line with'
        " the key in the file plugin-keys of their data_dir.",
        err=True,
    )


@plugin.command()
@_file
@_name
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Your private key; engines with plugins=open do without.",
)
@click.option(
    "--migrate", is_flag=True, help="Synopses of the version before go on as those of this one."
)
@connected
def add(session: Session, file: Path, name: str | None, key: Path | None, migrate: bool) -> None:
    """Give the engine a plug-in. It is examined first, which may take a while.

    The same name again makes a new version; synopses that run keep theirs, unless it is to take
    them over.
    """
    with session.client() as client, _hints(file, signed=key is not None):
        added = client.add_plugin(file, name, key=key, migrate=migrate)
    if session.as_json:
        print_json(added.raw)
        return
    moved = "" if added.moved is None else f" and took over {added.moved} synopses"
    click.echo(f"{added.kind} is {added.state}{moved}")


@plugin.command("list")
@connected
def list_(session: Session) -> None:
    """List the plug-ins in all their versions."""
    with session.client() as client:
        found = client.plugins()
    if session.as_json:
        print_json([each.raw for each in found])
    elif found:
        rows = [
            [each.kind, each.state, each.synopses, time_text(each.added), each.key, each.reason]
            for each in found
        ]
        columns = ["kind", "state", "synopses", "added", "author's key", "reason"]
        print_table(columns, rows, whole=("kind",), numbers=("synopses",))
    else:
        click.echo("There are no plug-ins.")


@plugin.command()
@click.argument("name")
@click.option("--version", type=click.IntRange(min=1), help="Only this one, instead of all.")
@connected
def remove(session: Session, name: str, version: int | None) -> None:
    """Take a plug-in out of the engine; refused while synopses are made of it."""
    with session.client() as client:
        client.remove_plugin(name, version)
    if session.as_json:
        print_json({"name": name, "version": version})
    else:
        click.echo(f"{name if version is None else f'{name}@{version}'} removed")


@plugin.command()
@click.argument("name")
@click.option("--version", type=click.IntRange(min=1), help="Only this one, instead of all.")
@connected
def release(session: Session, name: str, version: int | None) -> None:
    """Let a quarantined plug-in go on; tuples that came meanwhile are missed."""
    with session.client() as client:
        released = client.release_plugin(name, version)
    if session.as_json:
        print_json({"released": list(released)})
    else:
        click.echo(f"{', '.join(released)} released")


@contextmanager
def _hints(file: Path, *, signed: bool) -> Iterator[None]:
    try:
        yield
    except Refused as error:
        if error.code == Code.BROKEN_LAW:
            error.add_note(
                f"'sde plugin check {file}', with the same --name, tries all laws but taking over."
            )
        if error.code == Code.UNTRUSTED and not signed:
            error.add_note("Sign it with --key FILE; 'sde plugin keygen' makes a key.")
        raise
