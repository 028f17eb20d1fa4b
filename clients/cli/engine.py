"""serve and demo: this process becomes the one that runs the engine, or the demo."""

from __future__ import annotations

import importlib.util
import os
import sys

import click

# All words belong to the service, `--help` too.
_PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}
_NEEDED = ("pyspark", "numba", "datasketches", "service")


@click.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def serve(args: tuple[str, ...]) -> None:
    """Run the engine until Ctrl-C."""
    become("service", args)


@click.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def demo(args: tuple[str, ...]) -> None:
    """Show the engine at work; ends by itself."""
    become("clients.demo", args)


def become(module: str, args: tuple[str, ...]) -> None:
    """Go on as `python -m module`, with the engine's packages or the advice to install them."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise click.ClickException(
            f"The engine is not installed here ({', '.join(missing)} missing):"
            " pip install 'synopses-data-engine[engine]'"
        )
    sys.stdout.flush()
    # -P: a folder named `service` where the user happens to be is not ours.
    os.execv(sys.executable, [sys.executable, "-P", "-m", module, *args])
