"""kinds: the catalogue, from the declarations of the kinds themselves."""

from __future__ import annotations

import click
import msgspec

from clients.cli.printing import print_json, print_table
from clients.cli.session import Session, connected
from clients.kind_examples import plainly
from clients.kinds import Kind, library_kinds
from clients.wording import size
from sde.wire.nearest import nearest


@click.command()
@click.argument("kind", required=False)
@click.option("--plugins", is_flag=True, help="Ask the engine for the kinds of its plug-ins, too.")
@click.option("--error", type=float, help="Suggest the parameter that gives at most this error.")
@connected
def kinds(session: Session, kind: str | None, plugins: bool, error: float | None) -> None:
    """List the kinds, or explain one: fields, parameters, questions, an example.

    \b
    sde kinds count_min
    sde kinds quantiles --error 0.001
    """
    if error is not None and kind is None:
        raise click.UsageError("--error: expected with the name of a kind")
    known = library_kinds()
    if plugins:
        with session.client() as client:
            known = {each.kind: each for each in client.kinds()}
        kind = kind and _newest(kind, list(known))
    if kind is not None and kind not in known:
        more = "" if plugins else ", 'sde kinds --plugins' those of plug-ins, too"
        raise click.UsageError(
            f"{kind!r}: expected a kind. {nearest(kind, known)}'sde kinds' lists all{more}."
        )
    if kind is not None and error is not None:
        _suggest(known[kind], error, session.as_json)
    elif session.as_json:
        print_json(msgspec.to_builtins(list(known.values()) if kind is None else known[kind]))
    elif kind is None:
        columns = ["kind", "question", "what it answers", "fields", "questions"]
        rows = [[each.as_row()[column] for column in columns] for each in known.values()]
        print_table(columns, rows, whole=["kind"], spare=["what it answers"])
    else:
        click.echo(known[kind])


def _newest(name: str, kinds: list[str]) -> str:
    """The newest version of the plug-in of this name; the name as it is, if there is none.

    >>> _newest("fence", ["bloom", "fence@9", "fence@10"]), _newest("bloom", ["bloom"])
    ('fence@10', 'bloom')
    """
    versions = [each for each in kinds if each.startswith(f"{name}@")]
    return max(versions, key=lambda each: int(each.partition("@")[2]), default=name)


def _suggest(kind: Kind, error: float, as_json: bool) -> None:
    """The smallest choice that is good enough."""
    if kind.sizes is None:
        raise click.UsageError(f"--error: {kind.kind} has no parameter that decides its error")
    choice = kind.sizes.for_error(error)
    if choice is None:
        least = kind.sizes.choices[-1].error
        raise click.UsageError(f"--error {error:g}: expected at least {least:g} for {kind.kind}")
    if as_json:
        print_json(msgspec.to_builtins(choice) | {"parameter": kind.sizes.parameter})
        return
    click.echo(f"{kind.sizes.parameter}={plainly(choice.value)}")
    click.echo(
        f"Error {kind.sizes.meaning}: at most {choice.error:g}, with {size(choice.memory)};"
        f" by default {kind.sizes.default_error:g}, with {size(kind.sizes.default_memory)}.",
        err=True,
    )
