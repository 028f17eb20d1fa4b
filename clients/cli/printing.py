"""What the commands print: tables for people, JSON for scripts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import click
import orjson
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clients.answers import Answer
from clients.descriptions import Description
from clients.records import MOMENTS, Record, Records
from clients.transport import Message
from clients.wording import edges, scope_text, shown, size, time_text, window_text

NUMBERS = ("number", "value", "lower", "upper", "tuples", "streams", "memory", "size")
_LEAST_WIDTH = 12  # to which texts other than names are folded before a column is left out


def print_json(message: Any) -> None:
    click.echo(orjson.dumps(message))


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    whole: Collection[str] = (),
    numbers: Collection[str] = (),
    spare: Sequence[str] = (),
) -> None:
    """Columns of names (`whole`) and numbers are never cut or folded.

    Where they do not fit the terminal, the columns in `spare` are left out, the first one first.
    """
    cells = [[shown(cell) for cell in row] for row in rows]
    console = Console()
    widths = [
        max([len(column), *(len(row[at]) for row in cells)]) for at, column in enumerate(columns)
    ]
    unbroken = {
        column
        for column, width in zip(columns, widths, strict=True)
        if column in {*whole, *numbers} and width < console.width
    }
    kept = _fitting(columns, widths, console.width, unbroken, spare)
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False)
    for at in kept:
        column = columns[at]
        # The others are folded, never cut: nothing is hidden.
        table.add_column(
            column,
            justify="right" if column in numbers else "left",
            overflow="fold",
            no_wrap=column in unbroken,
            min_width=min(len(column), _LEAST_WIDTH),
        )
    for row in cells:
        # Text, because what comes from outside may look like rich's markup.
        table.add_row(*(Text(row[at]) for at in kept))
    console.print(table)
    left_out = [column for at, column in enumerate(columns) if at not in kept]
    if left_out:
        click.echo(f"Not shown, for want of room: {', '.join(left_out)}.", err=True)


def _fitting(
    columns: Sequence[str],
    widths: Sequence[int],
    room: int,
    unbroken: Collection[str],
    spare: Sequence[str],
) -> list[int]:
    """The places of the columns that are shown."""
    needed = {
        at: width if column in unbroken else min(width, max(_LEAST_WIDTH, len(column)))
        for at, (column, width) in enumerate(zip(columns, widths, strict=True))
    }
    for column in spare:
        if sum(needed.values()) + 2 * len(needed) <= room:  # with the space between them
            break
        if column in columns:
            del needed[columns.index(column)]
    return list(needed)


def print_answer(answer: Answer) -> None:
    known = {
        **dict(zip(("from", "to"), edges(answer.window) if answer.window else (), strict=False)),
        "value": answer.value,
        "lower": answer.lower,
        "upper": answer.upper,
        "confidence": answer.confidence,
        "tuples": answer.tuples,
    }
    if isinstance(answer.value, list):
        for name in ("value", "lower", "upper"):  # they stand in the rows
            del known[name]
        print_records(answer.records)
    present = {name: value for name, value in known.items() if value is not None}
    if present:
        print_table(list(present), [list(present.values())])
    print_warnings(answer.warnings)


def print_warnings(warnings: Iterable[str]) -> None:
    """To standard error: standard output has the answer alone."""
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def print_records(records: Records[Record]) -> None:
    """Records with their fields as columns."""
    columns = records.columns
    names = [column for column in columns if column in ("key", "stream", "a", "b")]
    rows = [[row.get(name) for name in columns] for row in records]
    print_table(columns, rows, whole=names, numbers=NUMBERS)


def print_descriptions(descriptions: Sequence[Description]) -> None:
    """What fits a line of a terminal; `sde describe` shows the rest."""
    rows = [
        [
            each.uid,
            each.kind,
            each.dataset,
            scope_text(each.scope),
            window_text(each.window) if each.window else None,
            each.tuples,
            each.streams if each.scope == "stream" else None,
            size(each.bytes) if each.bytes is not None else None,
        ]
        for each in descriptions
    ]
    columns = ("uid", "kind", "dataset", "scope", "window", "tuples", "streams", "memory")
    # Columns nobody fills take the room of others.
    filled = [at for at in range(len(columns)) if any(row[at] is not None for row in rows)]
    print_table(
        [columns[at] for at in filled],
        [[row[at] for at in filled] for row in rows],
        whole=("uid", "kind"),
        numbers=NUMBERS,
        spare=("streams", "memory", "scope", "window", "kind", "tuples", "dataset"),
    )


def print_object(message: Message) -> None:
    rows = {**message}
    for name in MOMENTS & rows.keys():
        rows[name] = time_text(rows[name])
    print_table(["", ""], list(rows.items()))
