"""The command `sde`: all commands, and how errors end them."""

from __future__ import annotations

import sys
from typing import Any

import click
import orjson

from clients.cli import (
    engine,
    exchange,
    kinds,
    plugin,
    requests,
    rescale,
    send,
    sites,
    snapshots,
    source,
    status,
    streams,
    topics,
    watch,
)
from clients.cli.session import AS_JSON
from clients.errors import AnswerTimeout, ClientError, Refused

EXIT_ERROR = 1
EXIT_TIMEOUT = 3


class Commands(click.Group):
    """Ends with 0, 1 for an error or a refusal, 2 for wrong usage, 3 for a time-out."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ClientError as error:
            command = self.commands.get(ctx.invoked_subcommand or "")
            as_json = bool(ctx.meta.get(AS_JSON))
            click.echo(_json(error) if as_json else _text(error, command), err=True)
            sys.exit(EXIT_TIMEOUT if isinstance(error, AnswerTimeout) else EXIT_ERROR)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # as they are used, not by the alphabet


def _json(error: ClientError) -> str:
    code = error.code if isinstance(error, Refused) else type(error).__name__
    message = error.message if isinstance(error, Refused) else str(error)
    field = error.field if isinstance(error, Refused) else ""
    fault = {"code": code, "message": message, "field": field, "hints": _notes(error)}
    return orjson.dumps(fault).decode()


def _text(error: ClientError, command: click.Command | None) -> str:
    """A refusal names the option that is meant, where the command has one for the field."""
    head = f"{error}"
    if isinstance(error, Refused):
        field, message = error.field, error.message.removeprefix(f"{error.field}=None: ")
        options = [name for each in command.params for name in each.opts] if command else []
        option = f"--{field}"
        where = f"option {option}" if option in options else f"field {field}"
        head = f"{error.code}: {message}" + (f" ({where})" if field else "")
    return "\n".join([f"Error: {head}", *_notes(error)])


def _notes(error: ClientError) -> list[str]:
    notes = list(getattr(error, "__notes__", []))
    return [error.hint, *notes] if isinstance(error, Refused) and error.hint else notes


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="synopses-data-engine")
def main() -> None:
    """Summaries of streams, created and queried by request while the data flows.

    'sde serve' runs the engine; the other commands, in the same folder, find it.
    """


for _command in (
    engine.serve,
    engine.gateway,
    engine.demo,
    status.status,
    kinds.kinds,
    source.source,
    requests.create,
    send.send,
    requests.estimate,
    watch.watch,
    watch.unwatch,
    watch.watches,
    requests.list_,
    requests.describe,
    streams.streams,
    requests.delete,
    exchange.export,
    exchange.import_,
    snapshots.snapshot,
    snapshots.restore,
    snapshots.snapshots,
    snapshots.remove_snapshot,
    plugin.plugin,
    sites.sites,
    rescale.rescale,
    topics.topics,
    topics.tail,
):
    main.add_command(_command)
