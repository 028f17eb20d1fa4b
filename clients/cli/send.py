"""send: files of tuples, or standard input."""

from __future__ import annotations

import sys
import time as clock
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from clients.cli.printing import print_json
from clients.cli.session import Session, connected


@click.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
@click.option("--dataset", required=True, help="The data set the tuples belong to.")
@click.option(
    "--stream", default="stream", show_default=True, metavar="COLUMN", help="Tells the stream."
)
@click.option(
    "--time",
    metavar="COLUMN",
    help="Tells the time: milliseconds or ISO 8601.  [default: time, if there is such a column]",
)
@connected
def send(
    session: Session, files: tuple[Path, ...], dataset: str, stream: str, time: str | None
) -> None:
    """Send the rows of CSV, TSV, Parquet or NDJSON files as tuples.

    NDJSON (.ndjson, .jsonl) has a JSON object a line: the fields of a tuple, or
    {"stream": ..., "values": {...}, "time": ...}. With - standard input is read, as NDJSON or CSV;
    lines of NDJSON are sent as they come.

    \b
    sde send ticks.csv --dataset Forex --stream StockID --time at
    echo '{"stream": "EURUSD", "trader": "ann", "price": 1.07}' | sde send - --dataset Forex
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[tuples]:,} tuples"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    started = clock.monotonic()
    total = 0
    with (
        session.client() as client,
        Progress(*columns, console=console, disable=not console.is_terminal) as bars,
    ):
        for file in files:
            is_stream = str(file) == "-"
            bar = bars.add_task("standard input" if is_stream else file.name, total=1.0, tuples=0)

            def progress(tuples: int, share: float, bar=bar) -> None:  # type: ignore
                bars.update(bar, completed=share, tuples=tuples)

            source = sys.stdin.buffer if is_stream else file
            total += client.send_file(dataset, source, stream=stream, time=time, progress=progress)
    seconds = clock.monotonic() - started
    if session.as_json:
        print_json({"tuples": total, "seconds": round(seconds, 3)})
    else:
        click.echo(f"{total:,} tuples sent in {seconds:.1f} s")
