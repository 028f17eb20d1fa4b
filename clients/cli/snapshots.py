"""snapshot, restore, snapshots, remove-snapshot: versions of a synopsis kept outside the engine."""

from __future__ import annotations

import click

from clients.cli.hints import hints_for_estimate
from clients.cli.printing import NUMBERS, print_json, print_table
from clients.cli.session import Session, connected
from clients.wording import scope_text, size, time_text


@click.command()
@click.argument("uid")
@click.option("--version", help="Its name; one is made if you give none.")
@click.option("--replace", is_flag=True, help="Take the place of a version that has this name.")
@click.option("--keep", type=int, help="Let only so many versions stay, this one among them.")
@connected
def snapshot(
    session: Session, uid: str, version: str | None, replace: bool, keep: int | None
) -> None:
    """Keep a version of a synopsis.

    \b
    sde snapshot trades --version before-the-split
    sde snapshot trades --keep 7
    """
    with session.client() as client, hints_for_estimate():
        taken = client.snapshot(uid, version, replace=replace, keep=keep)
    if session.as_json:
        print_json({"uid": uid, "version": taken})
    else:
        click.echo(taken)


@click.command()
@click.argument("uid")
@click.option("--version", help="Which one; the newest if left out.")
@click.option("--as", "as_uid", metavar="UID", help="Make a new synopsis, instead of replacing.")
@connected
def restore(session: Session, uid: str, version: str | None, as_uid: str | None) -> None:
    """Bring a version of a synopsis back, in its place or beside it.

    \b
    sde restore trades --version before-the-split --as old-trades
    """
    with session.client() as client, hints_for_estimate():
        restored = client.restore(uid, version, as_uid=as_uid)
    if session.as_json:
        print_json({"uid": restored.uid})
    else:
        click.echo(restored.uid)


@click.command("remove-snapshot")
@click.argument("uid")
@click.option("--version", required=True, help="Which one.")
@connected
def remove_snapshot(session: Session, uid: str, version: str) -> None:
    """Remove a version that is kept.

    \b
    sde remove-snapshot trades --version before-the-split
    """
    with session.client() as client, hints_for_estimate():
        client.remove_snapshot(uid, version)
    if session.as_json:
        print_json({"uid": uid, "removed": version})


@click.command()
@click.argument("uid", required=False)
@connected
def snapshots(session: Session, uid: str | None) -> None:
    """List the versions that are kept, the oldest first.

    \b
    sde snapshots trades
    """
    with session.client() as client:
        found = client.snapshots(uid)
    if session.as_json:
        print_json([each.raw for each in found])
    elif found:
        rows = [
            [
                each.uid,
                each.version,
                each.kind,
                each.dataset,
                scope_text(each.scope),
                time_text(each.at),
                size(each.bytes) if each.bytes is not None else None,
            ]
            for each in found
        ]
        columns = ["uid", "version", "kind", "dataset", "scope", "taken", "size"]
        spare = ("scope", "size", "kind", "dataset")
        print_table(columns, rows, whole=("uid", "version"), numbers=NUMBERS, spare=spare)
    else:
        click.echo("There are no snapshots" + (f" of {uid}." if uid else "."))
