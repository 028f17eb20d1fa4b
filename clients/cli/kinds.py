"""kinds: the catalogue, from the declarations of the kinds themselves."""

from __future__ import annotations

import click
import msgspec

from clients.cli.printing import print_json, print_table
from clients.cli.session import Session, connected
from clients.kinds import library_kinds
from clients.suggestions import nearest


@click.command()
@click.argument("kind", required=False)
@click.option("--plugins", is_flag=True, help="Ask the engine for the kinds of its plug-ins, too.")
@connected
def kinds(session: Session, kind: str | None, plugins: bool) -> None:
    """List the kinds, or explain one: fields, parameters, questions, an example.

    \b
    sde kinds count_min
    """
    known = library_kinds()
    if plugins:
        with session.client() as client:
            known = {each.kind: each for each in client.kinds()}
    if kind is not None and kind not in known:
        more = "" if plugins else ", 'sde kinds --plugins' those of plug-ins, too"
        raise click.UsageError(
            f"{kind!r}: expected a kind. {nearest(kind, known)}'sde kinds' lists all{more}."
        )
    if session.as_json:
        print_json(msgspec.to_builtins(list(known.values()) if kind is None else known[kind]))
    elif kind is None:
        columns = ["kind", "what it answers", "fields", "questions"]
        rows = [[each.as_row()[column] for column in columns] for each in known.values()]
        print_table(columns, rows, whole=["kind"])
    else:
        click.echo(known[kind])
