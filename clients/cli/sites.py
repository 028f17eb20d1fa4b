"""sites, and the options that make a request one of several sites."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from clients.answers import Answer
from clients.cli.printing import NUMBERS, print_json, print_table
from clients.cli.session import Session, connected
from clients.wording import size

Command = Callable[..., None]


def sites_options(command: Command) -> Command:
    """Hand the command `sites` and `deadline`, as the client takes them."""

    @click.option(
        "--sites", metavar="NAME,...|'*'", help="Of these sites, or of all; see 'sde sites'."
    )
    @click.option(
        "--deadline", metavar="DURATION", help="How long sites have to answer (5s if left out)."
    )
    @functools.wraps(command)
    def run(*args: Any, sites: str | None, deadline: str | None, **rest: Any) -> None:
        if deadline is not None and sites is None:
            raise click.UsageError("--deadline: expected together with --sites")
        named: Any = sites if sites in (None, "*") else [s.strip() for s in str(sites).split(",")]
        command(*args, sites=named, deadline=deadline, **rest)

    return run


def tell_missing(answer: Answer) -> None:
    """Which sites an answer does without."""
    for site, why in answer.missing.items():
        click.echo(f"without {site}: {why}", err=True)


@click.command()
@click.option("--deadline", metavar="DURATION", help="How long they have to answer (3s).")
@connected
def sites(session: Session, deadline: str | None) -> None:
    """List the sites the engine knows, whether they answer, and what went to and from them.

    \b
    sde sites
    """
    with session.client() as client:
        found = client.sites(deadline=deadline)
    if session.as_json:
        print_json([each.raw for each in found])
        return
    rows = [
        [
            each.site,
            "yes" if each.answers else "no",
            size(each.sent),
            size(each.received),
            each.late,
            each.refused,
        ]
        for each in found
    ]
    columns = ["site", "answers", "sent", "received", "late", "refused"]
    print_table(columns, rows, whole=("site",), numbers=NUMBERS)
