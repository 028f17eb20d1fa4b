"""The options of create that make a window."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., None]


def window_options(command: Command) -> Command:
    """Hand the command its `window`, as it is on the wire."""

    @click.option(
        "--window",
        "size",
        metavar="SIZE",
        help="Summarise windows of this length: a duration (5m) or a number of tuples (1000).",
    )
    @click.option("--slide", metavar="SIZE", help="A new window begins this often; they overlap.")
    @click.option(
        "--session-gap",
        "gap",
        metavar="DURATION",
        help="Windows that end after this long without a tuple, instead of --window.",
    )
    @click.option(
        "--time",
        metavar="FIELD|arrival",
        help="The field that tells a tuple's time.  [default: the tuple's own time]",
    )
    @click.option("--lateness", metavar="DURATION", help="How late a tuple may come to count.")
    @click.option("--keep", metavar="SIZE", help="How long a closed window can be asked for.")
    @functools.wraps(command)
    def run(
        *args: Any,
        size: str | None,
        slide: str | None,
        gap: str | None,
        time: str | None,
        lateness: str | None,
        keep: str | None,
        **rest: Any,
    ) -> None:
        if gap and (size or slide):
            raise click.UsageError("--session-gap: expected without --window and --slide")
        if not (size or gap) and (slide or time or lateness or keep):
            raise click.UsageError(
                "--slide, --time, --lateness, --keep: expected with --window or --session-gap"
            )
        given = {
            "type": "session" if gap else "sliding" if slide else "tumbling",
            "size": _length(size),
            "slide": _length(slide),
            "gap": gap,
            "time": time,
            "lateness": lateness,
            "keep": _length(keep),
        }
        window = {name: value for name, value in given.items() if value is not None}
        command(*args, window=window if size or gap else None, **rest)

    return run


def _length(text: str | None) -> str | int | None:
    """Tuples if it is a number, else a duration, which the engine reads."""
    return int(text) if text is not None and text.isdecimal() else text
