"""The options of create that make a window."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_type_hints

import click

from clients.client import Client
from sde.wire import catalogue
from sde.wire.windows import ARRIVAL, WindowMessage

Command = Callable[..., None]
_FORMATS = get_args(get_type_hints(WindowMessage)["format"])


def window_options(command: Command) -> Command:
    """Hand the command its `window`, as it is on the wire, and its `time`."""

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
        help="The field that tells a tuple's time, for windows by time and for kinds that read"
        " times (arrival: for windows only).  [default: the tuple's own time]",
    )
    @click.option("--format", type=click.Choice(_FORMATS), help="Of the field that tells the time.")
    @click.option("--lateness", metavar="DURATION", help="How late a tuple may come to count.")
    @click.option(
        "--skew", metavar="DURATION", help="How far a tuple's time may be ahead (1h if left out)."
    )
    @click.option("--keep", metavar="SIZE", help="How long a closed window can be asked for.")
    @functools.wraps(command)
    def run(
        *args: Any,
        size: str | None,
        gap: str | None,
        time: str | None,
        keep: str | None,
        slide: str | None,
        format: str | None,
        lateness: str | None,
        skew: str | None,
        **rest: Any,
    ) -> None:
        if gap and (size or slide):
            raise click.UsageError("--session-gap: expected without --window and --slide")
        if not (size or gap) and (slide or format or lateness or skew or keep):
            raise click.UsageError(
                "--slide, --format, --lateness, --skew, --keep: expected with --window or"
                " --session-gap"
            )
        by_time = gap is not None or isinstance(_length(size), str)
        fields = {
            "type": "session" if gap else "sliding" if slide else "tumbling",
            "size": _length(size),
            "slide": _length(slide),
            "gap": gap,
            "time": time if by_time else None,
            "format": format,
            "lateness": lateness,
            "skew": skew,
            "keep": _length(keep),
        }
        window = {name: value for name, value in fields.items() if value is not None}
        command(*args, window=window if size or gap else None, time=time, **rest)

    return run


def time_for_kind(
    client: Client, kind: str, time: str | None, window: Mapping[str, Any] | None
) -> str | None:
    """The `time` of a create beside that of its window.

    A kind that reads times reads the same field as its window: one of the two left out would be
    the tuple's own time. Other kinds are refused with a time, so theirs is the window's only.
    """
    if time is None or window is None or "time" not in window:
        return time
    return time if time != ARRIVAL and _reads_times(client, kind) else None


def _reads_times(client: Client, kind: str) -> bool:
    """Of a plug-in the engine tells it; its newest version counts if none is named."""
    known = catalogue.kinds().get(kind)
    if known is not None:
        return "times" in known.reads
    named = [each for each in client.kinds() if kind in (each.kind, each.kind.partition("@")[0])]
    return bool(named) and "times" in named[-1].reads


def _length(text: str | None) -> str | int | None:
    """Tuples if it is a number, else a duration, which the engine reads."""
    return int(text) if text is not None and text.isdecimal() else text
