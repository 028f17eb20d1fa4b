"""The answers of watches: a table that changes in a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterable

import click
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from clients.answers import Answer
from clients.cli.printing import NUMBERS
from clients.wording import edges, shown, time_text

_LATEST = 20  # rows
_WIDEST = 40  # characters of a cell; --json shows all of a long list
Row = dict[str, str]


def shown_live(answers: Iterable[tuple[str, Answer]], *, several: bool) -> None:
    console = Console()
    if not console.is_terminal:
        for uid, answer in answers:
            click.echo(line(uid, answer))
        return
    board = Board(several)
    with Live(board.table(), console=console, auto_refresh=False) as live:
        for uid, answer in answers:
            board.add(uid, answer)
            live.update(board.table(), refresh=True)


class Board:
    """The latest answers of one watch, or the latest one of each of several."""

    def __init__(self, several: bool) -> None:
        self._several = several
        self._rows: dict[str, Row] = {}  # the newest last

    def add(self, uid: str, answer: Answer) -> None:
        row = _row(uid, answer)
        self._rows[uid if self._several else row["number"]] = row
        if not self._several and len(self._rows) > _LATEST:
            del self._rows[next(iter(self._rows))]

    def table(self) -> Table:
        table = Table(
            box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False
        )
        rows = self._rows.values()
        columns = dict.fromkeys(name for row in rows for name in row)
        for name in columns:
            # One line an answer: a table that changes its height cannot be read.
            table.add_column(
                name,
                justify="right" if name in NUMBERS else "left",
                no_wrap=True,
                overflow="ellipsis",
                min_width=max(len(row["uid"]) for row in rows) if name == "uid" else None,
            )
        for row in rows:
            table.add_row(*(_cell(name, row.get(name, "")) for name in columns))
        return table


def _cell(name: str, text: str) -> Text:
    cell = Text(text)
    if name != "uid":
        cell.truncate(_WIDEST, overflow="ellipsis")
    return cell


def line(uid: str, answer: Answer) -> str:
    """One answer for a file or a pipe.

    >>> line("trades", Answer.of({"number": 3, "value": 2.0, "window": {"start": 0, "end": 5}}))
    'trades  #3  1970-01-01T00:00:00Z .. 1970-01-01T00:00:00.005Z  2'
    """
    row = _row(uid, answer)
    words = [uid, f"#{row['number']}"]
    words.append(f"{row['from']} .. {row['to']}" if answer.window else row["time"])
    words += [row[name] for name in ("key", "stream") if name in row]
    words.append(row["value"])
    if "lower" in row or "upper" in row:
        words.append(f"[{row.get('lower', '')} .. {row.get('upper', '')}]")
    if "holds" in row:
        words.append("holds" if answer.holds else "does not hold")
    return "  ".join(words)


def _row(uid: str, answer: Answer) -> Row:
    if answer.window:
        when = dict(zip(("from", "to"), edges(answer.window), strict=True))
    else:
        when = {"time": str(time_text(int(time.time()) * 1000))}
    cells = {
        "uid": uid,
        "number": answer.number,
        **when,
        "key": answer.key,
        "stream": None if answer.stream == answer.key else answer.stream,
        "value": answer.value,
        "lower": answer.lower,
        "upper": answer.upper,
        "tuples": answer.tuples,
        "holds": answer.holds,
    }
    return {name: shown(cell) for name, cell in cells.items() if cell is not None}
