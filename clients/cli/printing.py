"""What the commands print: tables for people, JSON for scripts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click
import orjson
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clients.answers import Answer, Description
from clients.transport import Message

NUMBERS = ("number", "value", "lower", "upper", "tuples", "streams", "memory", "size")


def print_json(message: Any) -> None:
    click.echo(orjson.dumps(message))


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    whole: int = 0,
    numbers: Collection[str] = (),
) -> None:
    """`whole` is the place of the column of names that stay in one piece, as `numbers` do."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False)
    for at, column in enumerate(columns):
        # The others are folded, never cut: nothing is hidden.
        table.add_column(
            column,
            justify="right" if column in numbers else "left",
            overflow="fold",
            no_wrap=at == whole or column in numbers,
            min_width=min(len(column), 12),
        )
    for row in rows:
        # Text, because what comes from outside may look like rich's markup.
        table.add_row(*(Text(shown(cell)) for cell in row))
    Console().print(table)


def shown(value: Any) -> str:
    """A value for people: long numbers in groups, no needless digits."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return orjson.dumps(value).decode()
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    return f"{value:,.2f}" if 1000 <= abs(value) < 1e15 else f"{value:.6g}"


def time_text(ms: Any) -> str | None:
    """A time in the form the commands take.

    >>> time_text(1_704_110_400_000), time_text(1_500)
    ('2024-01-01T12:00:00Z', '1970-01-01T00:00:01.500Z')
    """
    if not isinstance(ms, int):
        return None
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # beyond the years there are
        return str(ms)
    precision = "milliseconds" if ms % 1000 else "seconds"
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def print_answer(answer: Answer) -> None:
    known = {
        "from": time_text(answer.window.start) if answer.window else None,
        "to": time_text(answer.window.end) if answer.window else None,
        "value": answer.value,
        "lower": answer.lower,
        "upper": answer.upper,
        "confidence": answer.confidence,
        "tuples": answer.tuples,
    }
    if isinstance(answer.value, list):
        del known["value"]
        print_list(answer.value)
    present = {name: value for name, value in known.items() if value is not None}
    if present:
        print_table(list(present), [list(present.values())])
    for warning in answer.warnings:
        click.echo(f"warning: {warning}", err=True)


def print_list(items: list[Any]) -> None:
    """A list of objects with their fields as columns; other lists with a row each."""
    if items and all(isinstance(item, dict) for item in items):
        columns = list(dict.fromkeys(name for item in items for name in item))
        print_table(columns, [[item.get(name) for name in columns] for item in items])
        return
    rows = [item if isinstance(item, list) else [item] for item in items]
    width = max((len(row) for row in rows), default=1)
    print_table([""] * width, [[*row, *[None] * (width - len(row))] for row in rows])


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
        whole=1,
        numbers=NUMBERS,
    )


def scope_text(scope: str | dict[str, str]) -> str:
    """As one would write it on the command line."""
    return scope if isinstance(scope, str) else f"stream={scope['stream']}"


def window_text(window: dict[str, Any]) -> str:
    """The lengths of a window.

    >>> window_text({"type": "sliding", "size": "5m", "slide": "10s"})
    '5m / 10s'
    >>> window_text({"type": "session", "gap": "30s"}), window_text({"size": 1000})
    ('gap 30s', '1,000')
    """
    if window.get("type") == "session":
        return f"gap {window.get('gap')}"
    lengths = [window.get("size"), window.get("slide") if window.get("type") == "sliding" else None]
    return " / ".join(shown(length) for length in lengths if length is not None)


def size(count: int) -> str:
    """Bytes for people.

    >>> size(999), size(1_234), size(250_000_000)
    ('999 B', '1.23 kB', '250 MB')
    """
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 999.5:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.3g} {unit}"


def print_object(message: Message) -> None:
    rows = {**message}
    for name in {"since", "watermark"} & rows.keys():
        rows[name] = time_text(rows[name])
    print_table(["", ""], list(rows.items()))


def shown_plainly(value: Any) -> str:
    """As one would write it on the command line."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
