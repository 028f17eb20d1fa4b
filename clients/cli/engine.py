"""serve, gateway and demo: this process becomes the one that runs the engine, or another."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Literal

import click

# All words belong to the service, `--help` too.
_PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}
_NEEDED = ("pyspark", "numba", "datasketches", "service")
_NEEDED_FOR_HTTP = ("starlette", "uvicorn", "numpy", "cryptography", "service")


@click.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def serve(args: tuple[str, ...]) -> None:
    """Run the engine until Ctrl-C."""
    become("service", args)


@click.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def gateway(args: tuple[str, ...]) -> None:
    """Serve HTTP for a running engine until Ctrl-C; 'sde gateway token' makes a token.

    \b
    sde gateway --http 127.0.0.1:8088
    sde gateway token dashboard --scopes read
    """
    become("service.gateway", args, "http")


@click.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def demo(args: tuple[str, ...]) -> None:
    """Show the engine at work; ends by itself."""
    become("clients.demo", args)


def become(module: str, args: tuple[str, ...], extra: Literal["engine", "http"] = "engine") -> None:
    """Go on as `python -m module`, with the packages of an extra or the advice to install it."""
    needed = _NEEDED if extra == "engine" else _NEEDED_FOR_HTTP
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        what = "engine" if extra == "engine" else "gateway"
        raise click.ClickException(
            f"The {what} is not installed here ({', '.join(missing)} missing):"
            f" pip install 'synopses-data-engine[{extra}]'"
        )
    sys.stdout.flush()
    # -P: a folder named `service` where the user happens to be is not ours.
    os.execv(sys.executable, [sys.executable, "-P", "-m", module, *args])
