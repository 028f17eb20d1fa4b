"""export: the state of a synopsis, to keep or to read elsewhere."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import get_args

import click

from clients.cli.hints import hints_for_estimate
from clients.cli.printing import print_json
from clients.cli.session import Session, connected
from clients.handle import ExportFormat


@click.command()
@click.argument("uid")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write. With --json it may be left out: base64 is printed then.",
)
@click.option("--stream", help="Which stream, where a synopsis has one summary for each.")
@click.option("--format", "form", type=click.Choice(get_args(ExportFormat)), default="native")
@connected
def export(
    session: Session, uid: str, output: Path | None, stream: str | None, form: ExportFormat
) -> None:
    """Write the state of a synopsis to a file.

    \b
    sde export traders --format datasketches --output traders.sketch
    """
    if output is None and not session.as_json:
        raise click.UsageError("expected --output FILE, or --json to print base64")
    with session.client() as client, hints_for_estimate():
        state = client.export(uid, stream=stream, format=form)
    told = {"uid": uid, "format": form, "bytes": len(state)}
    if output is None:
        print_json({**told, "state": base64.b64encode(state).decode()})
        return
    try:
        output.write_bytes(state)
    except OSError as error:
        raise click.FileError(str(output), error.strerror) from error
    if session.as_json:
        print_json({**told, "output": str(output)})
    else:
        click.echo(f"{len(state):,} bytes written to {output}")
