"""Results of the scale measurement as a table, JSON and a picture."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from statistics import median

from bench.goals import Goal
from bench.machine import measured_on
from bench.rates import Spread
from bench.scale.cases import FEW, MOST, NUMBERS
from bench.scale.measure import Measured

KEPT = 0.7  # of the rate with few synopses must be left with many
HEADER = ("way", "synopses", "tuples/s", "worst", "best", "batch s", "MB", "arena MB", "state MB",
          "log B/tuple")  # fmt: skip
_FIGURES = {
    "rate": "tuples a second",
    "batch_seconds": "seconds a batch",
    "memory_bytes": "memory of all processes, bytes",
    "arena_bytes": "arena, bytes",
    "log_bytes": "log, bytes a tuple",
    "state_bytes": "state in the checkpoint, bytes",
}

Results = dict[tuple[str, int], list[Measured]]  # the rounds of each case


def lines(results: Results) -> list[str]:
    return [_line(HEADER), *(_line(_cells(rounds)) for rounds in results.values())]


def _cells(rounds: list[Measured]) -> tuple[str, ...]:
    rate = Spread.of([m.rate for m in rounds])
    mega = [
        median(getattr(m, name) for m in rounds) / 1e6
        for name in ("memory_bytes", "arena_bytes", "state_bytes")
    ]
    return (
        rounds[0].way,
        f"{rounds[0].number}",
        *(f"{one:,.0f}" for one in (rate.median, rate.least, rate.most)),
        f"{median(m.batch_seconds for m in rounds):.2f}",
        *(f"{one:,.0f}" for one in mega),
        f"{median(m.log_bytes for m in rounds):.1f}",
    )


def _line(row: tuple[str, ...]) -> str:
    first, *rest = row
    return first.ljust(16) + "".join(cell.rjust(12) for cell in rest)


def goals(results: Results) -> list[Goal]:
    """What is left of the rate; figures of one round are compared with each other."""
    return [
        Goal(f"{way}: rate with {MOST:,} synopses, with {FEW} it is 1", _left(results, way), KEPT)
        for way in ("scope stream", "one create each")
    ]


def _left(results: Results, way: str) -> float | None:
    many, few = results.get((way, MOST), []), results.get((way, FEW), [])
    return median(m.rate / f.rate for m, f in zip(many, few, strict=True)) if many else None


def write(results: Results, folder: Path) -> None:
    """scale.json and scale.png."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "on": measured_on(),
        "goals": [goal.plain() for goal in goals(results)],
        "results": [asdict(m) for rounds in results.values() for m in rounds],
    }
    (folder / "scale.json").write_text(json.dumps(found, indent=1) + "\n")
    _draw(results, folder / "scale.png")


def _draw(results: Results, path: Path) -> None:
    import matplotlib  # only here: it takes a second to import

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, grid = pyplot.subplots(2, 3, figsize=(15, 8), sharex=True)
    for axes, (name, title) in zip(grid.flat, _FIGURES.items(), strict=True):
        for way in NUMBERS:
            cases = [rounds for (its, _), rounds in results.items() if its == way]
            numbers = [rounds[0].number for rounds in cases]
            figures = [Spread.of([getattr(m, name) for m in rounds]) for rounds in cases]
            middle = [f.median for f in figures]
            below = [f.median - f.least for f in figures]
            above = [f.most - f.median for f in figures]
            axes.errorbar(numbers, middle, [below, above], marker="o", ms=4, capsize=3, label=way)
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_title(title, fontsize=10)
        axes.grid(color="0.92")
    for axes in grid[1]:
        axes.set_xlabel("synopses")
    grid[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
