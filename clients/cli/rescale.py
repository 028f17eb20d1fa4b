"""rescale: another number of state partitions, for an engine that runs or one that does not."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import click
from rich.console import Console

from clients.address import EngineFolder
from clients.cli.engine import become
from clients.cli.printing import print_json
from clients.cli.session import json_option

_SECONDS_A_LOOK = 0.1
_SECONDS_UNTIL_DOUBT = 60.0


@click.command()
@click.option("--partitions", type=click.IntRange(min=1), required=True, help="How many.")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="SDE_DATA_DIR",
    default="sde-data",
    show_default=True,
    help="The data folder of the engine.",
)
@json_option
def rescale(partitions: int, data_dir: Path, as_json: bool) -> None:
    """Spread an engine's state over another number of partitions; all answers stay the same.

    A running engine stops at the end of a batch, repartitions and goes on.

    \b
    sde rescale --partitions 8
    """
    if not EngineFolder(data_dir).is_locked():
        become(
            "service.engine.rescale", ("--data-dir", str(data_dir), "--partitions", str(partitions))
        )
        return
    started = time.monotonic()
    _ask(data_dir, partitions)
    try:
        _wait(data_dir)
    except KeyboardInterrupt:
        (data_dir / "rescale.json").unlink(missing_ok=True)
        raise click.ClickException(
            "no longer waited for; the engine rescales all the same if it had begun"
        ) from None
    seconds = time.monotonic() - started
    if as_json:
        print_json({"partitions": partitions, "seconds": round(seconds, 3)})
    else:
        click.echo(f"{partitions} partitions after {seconds:.1f} s")


def _ask(data_dir: Path, partitions: int) -> None:
    """Leave a note that the engine finds; whole, because it may look at any time."""
    (data_dir / "rescale-failed.json").unlink(missing_ok=True)  # of an earlier attempt
    note = data_dir / f"rescale.json.{os.getpid()}"
    note.write_text(json.dumps({"partitions": partitions}), encoding="utf-8")
    note.replace(data_dir / "rescale.json")


def _wait(data_dir: Path) -> None:
    """Until the engine has taken the note away. It tells a failure before it does that."""
    console = Console(stderr=True)
    started = time.monotonic()
    doing = "the engine finishes its batch and repartitions"
    with console.status(doing) as status:
        while (data_dir / "rescale.json").exists() and _failure(data_dir) is None:
            time.sleep(_SECONDS_A_LOOK)
            seconds = time.monotonic() - started
            doubt = "; does it still run?" if seconds > _SECONDS_UNTIL_DOUBT else ""
            status.update(
                f"the engine finishes its batch and repartitions ({seconds:.0f} s{doubt})"
            )
    failure = _failure(data_dir)
    if failure is not None:
        raise click.ClickException(failure)


def _failure(data_dir: Path) -> str | None:
    try:
        written = json.loads((data_dir / "rescale-failed.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # none, or not written to its end
        return None
    return str(written.get("message", written))
