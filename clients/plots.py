"""Rows drawn with matplotlib: values, and their bounds around them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from clients.errors import BadInput, MissingExtra

Row = dict[str, Any]
_ORDERED = ("start", "time", "number")  # what rows have that follow each other, the best first
_BOUNDS, _SAID = ("lower", "upper"), ("confidence", "tuples", "batch", "start", "end", "holds")
_MOST_NAMES = 60  # below an axis; with more rows their places are told
_BAND = 0.25  # how dark


def draw_rows(rows: Sequence[Row], column: str, axes: Any = None) -> Any:
    """One column of the rows, in `axes` or in a new figure; the axes.

    Rows that follow each other in time, or by number, are a line with a band from lower to upper;
    others are points with their names and bars. BadInput if the column has no numbers.
    """
    shown = [row for row in rows if _is_number(row.get(column))]
    if not shown:
        names = dict.fromkeys(name for row in rows for name in row if _is_number(row[name]))
        expected = f"one of {', '.join(names)}" if names else "rows with some"
        raise BadInput(f"plot: column {column!r} has no numbers to draw: expected {expected}")
    drawn = _axes() if axes is None else axes
    values = [row[column] for row in shown]
    bounds = [_bounds(row, value, column) for row, value in zip(shown, values, strict=True)]
    ordered = next((name for name in _ORDERED if _is_order(name, shown)), None)
    if ordered is not None:
        _draw_line(drawn, [row[ordered] for row in shown], values, bounds)
        drawn.set_xlabel(ordered)
    else:
        _draw_points(drawn, [_name(row, column) for row in shown], values, bounds)
    drawn.set_ylabel(column)
    return drawn


def draw_buckets(edges: Sequence[float], counts: Sequence[float], axes: Any = None) -> Any:
    """Counts between edges, as bars; the axes."""
    drawn = _axes() if axes is None else axes
    drawn.stairs(counts, edges, fill=True, alpha=0.6)
    drawn.set_ylabel("count")
    return drawn


def _axes() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra("matplotlib", "plots") from None
    return pyplot.subplots()[1]


def _draw_line(axes: Any, places: list[Any], values: list[Any], bounds: list[Any]) -> None:
    axes.plot(places, values, marker=".")
    if any(lower < value or upper > value for value, (lower, upper) in _zipped(values, bounds)):
        lower, upper = zip(*bounds, strict=True)
        axes.fill_between(places, lower, upper, alpha=_BAND)


def _draw_points(axes: Any, names: list[str], values: list[Any], bounds: list[Any]) -> None:
    below = [value - lower for value, (lower, _) in _zipped(values, bounds)]
    above = [upper - value for value, (_, upper) in _zipped(values, bounds)]
    places = range(len(values))
    axes.errorbar(places, values, yerr=[below, above], fmt="o", capsize=4)
    if any(names) and len(names) <= _MOST_NAMES:
        axes.set_xticks(places, names, rotation=45 if len(names) > 3 else 0)
    elif len(names) == 1:
        axes.set_xticks([])


def _zipped(values: list[Any], bounds: list[Any]) -> Any:
    return zip(values, bounds, strict=True)


def _bounds(row: Row, value: Any, column: str) -> tuple[Any, Any]:
    """Those of the value; where there are none, the value itself."""
    lower, upper = (row.get(name) if column == "value" else None for name in _BOUNDS)
    return (
        min(lower, value) if _is_number(lower) else value,
        max(upper, value) if _is_number(upper) else value,
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_order(name: str, rows: Sequence[Row]) -> bool:
    """Whether the rows are told apart by it."""
    places = [row.get(name) for row in rows]
    return len(rows) > 1 and None not in places and len({*places}) == len(rows)


def _name(row: Row, column: str) -> str:
    """What the row is about: its first columns, before that which is drawn."""
    told = []
    for name, value in row.items():
        if name == column or name in _BOUNDS or name in _SAID:
            break
        if isinstance(value, str | int | float):
            told.append(str(value))
    return " – ".join(told)
