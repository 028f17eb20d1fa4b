"""What was found as a table, JSON, a picture, and the goals."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.goals import Goal
from bench.machine import in_one_line
from bench.rates import Spread
from bench.tables import markdown_table

_HEADER = (
    *("stocks", "ticks/s", "engine answers in", "numpy computes in", "times faster"),
    *("the kind alone", "pairs", "recall", "precision"),
)
_STOCKS_OF_THE_GOAL = 5000


@dataclass(frozen=True, slots=True)
class Found:
    stocks: int
    tuples_a_second: float  # while the ticks came
    asked: Spread  # seconds from the question to the answer
    computed: Spread  # seconds numpy takes for all pairs
    alone: Spread  # seconds of the search, without engine and Kafka
    faster: Spread
    pairs: int  # that there are
    recall: float
    precision: float

    @property
    def row(self) -> tuple[str, ...]:
        return (
            str(self.stocks),
            f"{self.tuples_a_second:,.0f}",
            _seconds(self.asked),
            _seconds(self.computed),
            f"{self.faster.median:.2f} ({self.faster.least:.2f}-{self.faster.most:.2f})",
            _seconds(self.alone),
            str(self.pairs),
            f"{self.recall:.4f}",
            f"{self.precision:.4f}",
        )


def goals(found: list[Found]) -> list[Goal]:
    chosen = next((each for each in found if each.stocks == _STOCKS_OF_THE_GOAL), None)
    name = f"correlation of {_STOCKS_OF_THE_GOAL} stocks"
    return [
        Goal(f"{name} against numpy", chosen and chosen.faster.median, 10.0, " times"),
        Goal(f"{name}, recall", chosen and chosen.recall, 0.99),
        Goal(f"{name}, precision", chosen and chosen.precision, 0.90),
    ]


def line(found: Found) -> str:
    return f"{found.stocks} stocks: " + ", ".join(
        f"{name} {cell}" for name, cell in zip(_HEADER[1:], found.row[1:], strict=True)
    )


def table(found: list[Found]) -> list[str]:
    widths = (7, 11, 24, 24, 22, 24, 7, 7, 9)
    rows = [_HEADER, *(each.row for each in found)]
    return [
        " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def write(found: list[Found], machine: dict[str, str], folder: Path) -> None:
    """correlation.json, correlation.md and correlation.png."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {
        "on": machine,
        "results": [asdict(each) for each in found],
        "goals": [goal.plain() for goal in goals(found)],
    }
    (folder / "correlation.json").write_text(json.dumps(kept, indent=1) + "\n")
    lines = [
        "# Stocks that move together",
        "",
        "All pairs with a correlation of 0.9 or more (or -0.9 or less) over five minutes of ten",
        "ticks a second. The engine keeps a DFT of each stock (8 coefficients) while the ticks",
        "come, and is asked over Kafka; numpy has the window in memory, and so has the kind alone.",
        "Median (worst-best). Made by `python -m bench.correlation`.",
        "",
        in_one_line(machine),
        "",
        *markdown_table(_HEADER, (each.row for each in found)),
        "",
        *(f"- {goal.line}" for goal in goals(found)),
    ]
    (folder / "correlation.md").write_text("\n".join(lines) + "\n")
    _draw(found, folder / "correlation.png")


def _draw(found: list[Found], path: Path) -> None:
    import matplotlib  # only here: it takes a second to import

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    stocks = [each.stocks for each in found]
    labels = {
        "asked": "engine, question to answer",
        "computed": "numpy, all pairs",
        "alone": "the kind alone",
    }
    for name, label in labels.items():
        spreads: list[Spread] = [getattr(each, name) for each in found]
        middle = [spread.median for spread in spreads]
        away = [
            [spread.median - spread.least for spread in spreads],
            [spread.most - spread.median for spread in spreads],
        ]
        axes.errorbar(stocks, middle, away, marker="o", capsize=3, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("stocks")
    axes.set_ylabel("seconds")
    axes.grid(color="0.92")
    axes.legend()
    figure.savefig(path, dpi=110, bbox_inches="tight")
    pyplot.close(figure)


def _seconds(spread: Spread) -> str:
    return f"{spread.median:.3f} s ({spread.most:.3f}-{spread.least:.3f})"
