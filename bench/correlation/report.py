"""What was found as a table, JSON, a picture, and the goals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.correlation.questions import QUESTIONS, Accuracy, worst
from bench.goals import Goal
from bench.machine import in_one_line
from bench.rates import Spread
from bench.tables import markdown_table

_HEADER = (
    *("stocks", "ticks/s", "one question answered in", "numpy computes in", "one: times numpy"),
    *("answers/s", "numpy, computations/s", "answers/s: times numpy"),
    *("the kind alone", "pairs", "recall", "precision"),
)
_STOCKS_OF_THE_GOAL = 5000


@dataclass(frozen=True, slots=True)
class Round:
    asked: float  # seconds from a question by itself to its answer
    answers_a_second: float  # to many questions at once
    computed: float  # seconds numpy takes for all pairs
    alone: float  # seconds of the search, without engine and Kafka
    pairs: int  # that there are
    accuracy: Accuracy  # the worst of all answers


@dataclass(frozen=True, slots=True)
class Found:
    stocks: int
    tuples_a_second: float  # while the ticks came
    asked: Spread
    computed: Spread
    alone: Spread
    faster: Spread  # one question by itself: numpy's seconds over those to its answer
    answers_a_second: Spread
    computations_a_second: Spread  # of numpy
    oftener: Spread  # answers a second over numpy's computations a second
    pairs: int
    recall: float
    precision: float

    @classmethod
    def of(cls, stocks: int, tuples_a_second: float, rounds: Sequence[Round]) -> Found:
        right = worst([each.accuracy for each in rounds])
        return cls(
            stocks=stocks,
            tuples_a_second=tuples_a_second,
            asked=Spread.of([each.asked for each in rounds]),
            computed=Spread.of([each.computed for each in rounds]),
            alone=Spread.of([each.alone for each in rounds]),
            faster=Spread.of([each.computed / each.asked for each in rounds]),
            answers_a_second=Spread.of([each.answers_a_second for each in rounds]),
            computations_a_second=Spread.of([1 / each.computed for each in rounds]),
            oftener=Spread.of([each.answers_a_second * each.computed for each in rounds]),
            pairs=rounds[-1].pairs,
            recall=right.recall,
            precision=right.precision,
        )

    @property
    def row(self) -> tuple[str, ...]:
        return (
            str(self.stocks),
            f"{self.tuples_a_second:,.0f}",
            _seconds(self.asked),
            _seconds(self.computed),
            _plain(self.faster),
            _plain(self.answers_a_second),
            _plain(self.computations_a_second),
            _plain(self.oftener),
            _seconds(self.alone),
            str(self.pairs),
            f"{self.recall:.4f}",
            f"{self.precision:.4f}",
        )


def goals(found: list[Found]) -> list[Goal]:
    chosen = next((each for each in found if each.stocks == _STOCKS_OF_THE_GOAL), None)
    name = f"correlation of {_STOCKS_OF_THE_GOAL} stocks"
    against = f"{name} against numpy, answers a second"
    if chosen is not None:
        against += f" to {QUESTIONS} questions at once"
        against += f" (time to the answer of one question: {chosen.faster.median:.3g} times)"
    return [
        Goal(against, chosen and chosen.oftener.median, 10.0, " times"),
        Goal(f"{name}, recall", chosen and chosen.recall, 0.99),
        Goal(f"{name}, precision", chosen and chosen.precision, 0.90),
    ]


def line(found: Found) -> str:
    return f"{found.stocks} stocks: " + ", ".join(
        f"{name} {cell}" for name, cell in zip(_HEADER[1:], found.row[1:], strict=True)
    )


def table(found: list[Found]) -> list[str]:
    rows = [_HEADER, *(each.row for each in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
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
        "come, and is asked over Kafka: one question by itself, then many at once, with thresholds",
        "from 0.90 to 0.91. numpy computes one after the other, on all cores; it has the window in",
        "memory, and so has the kind alone. Recall and precision are those of the worst answer.",
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

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.5))
    stocks = [each.stocks for each in found]
    labels = {
        left: {
            "asked": "engine, one question to its answer",
            "computed": "numpy, all pairs",
            "alone": "the kind alone",
        },
        right: {
            "answers_a_second": "engine, many questions at once",
            "computations_a_second": "numpy, all pairs",
        },
    }
    for axes, of_axes in labels.items():
        for name, label in of_axes.items():
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
        axes.set_ylabel("seconds" if axes is left else "answers a second")
        axes.grid(color="0.92")
        axes.legend()
    figure.savefig(path, dpi=110, bbox_inches="tight")
    pyplot.close(figure)


def _seconds(spread: Spread) -> str:
    return f"{spread.median:.3f} s ({spread.most:.3f}-{spread.least:.3f})"


def _plain(spread: Spread) -> str:
    return f"{spread.median:.3g} ({spread.least:.3g}-{spread.most:.3g})"
