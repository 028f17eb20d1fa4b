"""The options that say which question is meant, and about which part of a synopsis."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from clients.times import Moment

Command = Callable[..., None]

ask_option = click.option(
    "--ask", metavar="QUESTION", help="Which question; the kind's first if left out."
)
stream_option = click.option(
    "--stream", help="Which stream, where a synopsis has one summary for each."
)


def span_options(command: Command) -> Command:
    """Hand the command `end` and `span`, as `Client.estimate` takes them."""

    @click.option("--end", metavar="TIME", help="The window that ended there: ms or ISO 8601.")
    @click.option(
        "--from", "start", metavar="TIME", help="Instead of one window: all from here ..."
    )
    @click.option("--to", "stop", metavar="TIME", help="... to here.")
    @functools.wraps(command)
    def run(*args: Any, end: str | None, start: str | None, stop: str | None, **rest: Any) -> None:
        if (start is None) != (stop is None):
            raise click.UsageError("--from and --to: expected together")
        if end is not None and start is not None:
            raise click.UsageError("--end: expected without --from and --to")
        span = (_moment(start), _moment(stop)) if start is not None and stop is not None else None
        command(*args, end=None if end is None else _moment(end), span=span, **rest)

    return run


def _moment(text: str) -> Moment:
    return int(text) if text.removeprefix("-").isdecimal() else text
