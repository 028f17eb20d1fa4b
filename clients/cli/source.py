"""source: topics of others, read as they are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import orjson

from clients.cli.printing import print_json, print_table, print_warnings
from clients.cli.session import Session, connected
from clients.source_requests import SourceInfo
from clients.wording import time_text

_FORMATS = ("tuples", "json", "lines", "csv", "arrow", "avro", "protobuf")


@click.group()
def source() -> None:
    """Read topics as they are: how their records become tuples.

    Expressions are paths into a record (a.b[0]), $key, $headers.NAME, arithmetic, comparisons
    and functions: "px * qty", "venue == 'X' and qty > 0", "lower(name)".
    """


def _mapping_options(command: Callable[..., None]) -> Callable[..., None]:
    """Hand the command `mapping`, as the client takes it."""

    @click.argument("topic")
    @click.argument("fields", nargs=-1, metavar="[FIELD=EXPRESSION]...")
    @click.option(
        "--format", type=click.Choice(_FORMATS), default="json", help="How records are written."
    )
    @click.option("--dataset", metavar="NAME", help="The data set of all records.")
    @click.option("--stream", metavar="EXPRESSION", help="The stream of a record.")
    @click.option("--time", metavar="EXPRESSION", help="When it happened (the message's time).")
    @click.option("--where", metavar="EXPRESSION", help="Only records for which this is true.")
    @click.option("--each", metavar="PATH", help="Each element of this array is a record.")
    @click.option("--columns", metavar="NAME,...", help="Of CSV without a line of names.")
    @click.option("--delimiter", help="Of CSV (a comma).")
    @click.option(
        "--schema",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="File with the Avro schema of records without a registry.",
    )
    @click.option("--changes", type=click.Choice(["debezium"]), help="Records are changes.")
    @functools.wraps(command)
    def run(
        *args: Any,
        fields: tuple[str, ...],
        columns: str | None,
        schema: Path | None,
        topic: str,
        **said: Any,
    ) -> None:
        names = {
            name: said.pop(name)
            for name in (
                "format",
                "dataset",
                "stream",
                "time",
                "where",
                "each",
                "delimiter",
                "changes",
            )
        }
        mapping = {
            **names,
            "fields": dict(map(_field, fields)) or None,
            "columns": None if columns is None else [c.strip() for c in columns.split(",")],
            "schema": None if schema is None else schema.read_text(),
        }
        mapping = {name: value for name, value in mapping.items() if value is not None}
        command(*args, topic=topic, mapping=mapping, **said)

    return run


def _field(text: str) -> tuple[str, str]:
    name, equals, expression = text.partition("=")
    if not equals or not name or not expression:
        raise click.UsageError(f"{text!r}: expected FIELD=EXPRESSION, such as notional='px * qty'")
    return name, expression


@source.command()
@click.argument("name")
@click.option(
    "--from",
    "start",
    metavar="latest|earliest|TIME|OFFSETS",
    help='Where to begin (latest); offsets as {"0": 17}.',
)
@_mapping_options
@connected
def add(
    session: Session, name: str, topic: str, start: str | None, mapping: dict[str, Any]
) -> None:
    """Read TOPIC as the source NAME; of a source that is known, change its mapping.

    With a * in it TOPIC means all topics whose names fit. Without fields every value of a record
    is one, under its path.

    \b
    sde source add trades eu-trades --dataset Trades --stream symbol --time ts \\
        --from earliest trader=trader.id notional='px * qty'
    """
    with session.client() as client:
        warnings = client.add_source(name, topic=topic, start=_start(start), **mapping)
    if session.as_json:
        print_json({"name": name, "warnings": [*warnings]} if warnings else {"name": name})
        return
    click.echo(name)
    print_warnings(warnings)


def _start(text: str | None) -> Any:
    if text is None or not text.lstrip().startswith("{"):
        return int(text) if text is not None and text.isdecimal() else text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise click.UsageError(f'--from {text!r}: expected offsets as {{"0": 17}}') from None


@source.command("try")
@click.option("--limit", type=int, default=10, help="How many tuples to show, up to 100 (10).")
@_mapping_options
@connected
def try_(session: Session, topic: str, limit: int, mapping: dict[str, Any]) -> None:
    """Show what a mapping makes of the last records of TOPIC; nothing is counted.

    \b
    sde source try eu-trades --dataset Trades --stream symbol notional='px * qty'
    """
    with session.client() as client:
        seen = client.preview_source(topic=topic, limit=limit, **mapping)
    if session.as_json:
        print_json(seen.raw)
        return
    names = list(dict.fromkeys(name for one in seen.tuples for name in one["values"]))
    rows = [
        [one["stream"], time_text(one["time"]), *(one["values"].get(name, "") for name in names)]
        for one in seen.tuples
    ]
    removed = sum("removes" in one for one in seen.tuples)
    which = f", {removed} of them to be taken away" if removed else ""
    click.echo(f"last {len(seen.tuples)} tuples of the {seen.messages} messages looked at{which}")
    if rows:
        print_table(["stream", "time", *names], rows, whole=("stream",))
    if seen.tuples:
        lacking = (name for name in mapping.get("fields", ()) if name not in names)
        print_warnings(f"{name}: none of these tuples has it" for name in lacking)
    for letter in seen.dead_letters:
        place = f"{letter['topic']}/{letter['partition']}, offset {letter['offset']}"
        click.echo(f"dead letter: {place}: {letter['code']}: {letter['message']}")


@source.command("list")
@connected
def list_(session: Session) -> None:
    """List the sources that are read.

    With the number of records that became dead letters since a source has its mapping.
    """
    with session.client() as client:
        found = client.sources()
    if session.as_json:
        print_json([each.raw for each in found])
        return
    columns = ["source", "topic", "format", "dataset", "stream", "fields", "dead letters"]
    print_table(columns, [_row(each) for each in found], whole=("source",))
    print_warnings(f"{each.name}: {warning}" for each in found for warning in each.warnings)


def _row(each: SourceInfo) -> list[Any]:
    fields = "all" if each.fields is None else ", ".join(f"{n}={e}" for n, e in each.fields.items())
    fields += f" where {each.where}" if each.where else ""
    names = (each.name, each.topic, each.format, each.dataset or "", each.stream or "")
    return [*names, fields, each.dead_letters]


@source.command()
@click.argument("name")
@connected
def remove(session: Session, name: str) -> None:
    """Read a source no more; what was counted of it stays."""
    with session.client() as client:
        client.remove_source(name)
    if session.as_json:
        print_json({"name": name})
    else:
        click.echo(name)
