"""export and import: the state of a synopsis as bytes, to keep or to use elsewhere."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import get_args

import click

from clients.cli.hints import hints_for_estimate
from clients.cli.printing import print_json
from clients.cli.question_options import span_options, stream_option
from clients.cli.session import Session, connected
from clients.handle import ExportFormat
from clients.times import Moment


@click.command()
@click.argument("uid")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write. With --json it may be left out: base64 is printed then.",
)
@stream_option
@click.option("--format", "form", type=click.Choice(get_args(ExportFormat)), default="native")
@span_options
@connected
def export(
    session: Session,
    uid: str,
    output: Path | None,
    stream: str | None,
    form: ExportFormat,
    end: Moment | None,
    span: tuple[Moment, Moment] | None,
) -> None:
    """Write the state of a synopsis to a file.

    \b
    sde export traders --format datasketches --output traders.sketch
    """
    if output is None and not session.as_json:
        raise click.UsageError("expected --output FILE, or --json to print base64")
    with session.client() as client, hints_for_estimate():
        state = client.export(uid, stream=stream, format=form, end=end, span=span)
    head = {"uid": uid, "format": form, "bytes": len(state)}
    if output is None:
        print_json({**head, "state": base64.b64encode(state).decode()})
        return
    try:
        output.write_bytes(state)
    except OSError as error:
        raise click.FileError(str(output), error.strerror) from error
    if session.as_json:
        print_json({**head, "output": str(output)})
    else:
        click.echo(f"{len(state):,} bytes written to {output}")


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--uid", required=True, help="The synopsis that gets it.")
@stream_option
@click.option("--replace", is_flag=True, help="Forget what it holds, instead of merging.")
@click.option(
    "--tuples", type=click.IntRange(min=0), default=0, help="How many tuples the state stands for."
)
@connected
def import_(
    session: Session, file: Path, uid: str, stream: str | None, replace: bool, tuples: int
) -> None:
    """Merge a state that 'sde export' wrote, in the native format, into a synopsis.

    \b
    sde import traders.state --uid traders --tuples 1000000
    """
    try:
        state = file.read_bytes()
    except OSError as error:
        raise click.FileError(str(file), error.strerror) from error
    with session.client() as client, hints_for_estimate():
        client.import_state(uid, state, stream=stream, replace=replace, tuples=tuples)
    if session.as_json:
        print_json({"uid": uid, "bytes": len(state), "replaced": replace})
    else:
        click.echo(f"{len(state):,} bytes {'replace' if replace else 'merged into'} {uid}")
