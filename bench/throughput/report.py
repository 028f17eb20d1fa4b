"""Rates as a table, JSON, a picture, and the goals they have to meet."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.goals import Goal
from bench.machine import in_one_line
from bench.rates import Spread
from bench.tables import markdown_table
from bench.throughput.cases import HUNDRED, PER_STREAM
from bench.throughput.forms import (
    ARROW,
    AVRO,
    ESCAPED,
    IN_LINES,
    JSON,
    LZ4,
    MAPPED,
    SHUFFLED,
    TLS,
    ZSTD,
)
from bench.throughput.peers import ONE_SKETCH, USER

ENGINE = "engine"
_ENGINE_PER_STREAM, _LOOP = f"{ENGINE}: {PER_STREAM}", USER.name
_GOALS = [  # who, form, against whom, reading what form, how many times
    (_ENGINE_PER_STREAM, JSON, _LOOP, JSON, 3.0),
    (_ENGINE_PER_STREAM, LZ4, _LOOP, LZ4, 2.2),
    (_ENGINE_PER_STREAM, LZ4, _ENGINE_PER_STREAM, JSON, 0.85),
    (_ENGINE_PER_STREAM, ZSTD, _LOOP, ZSTD, 2.2),
    (_ENGINE_PER_STREAM, ZSTD, _ENGINE_PER_STREAM, JSON, 0.85),
    (_ENGINE_PER_STREAM, TLS, _LOOP, TLS, 1.6),
    (_ENGINE_PER_STREAM, ESCAPED, _ENGINE_PER_STREAM, JSON, 0.6),
    (_ENGINE_PER_STREAM, SHUFFLED, _ENGINE_PER_STREAM, JSON, 0.6),
    (_ENGINE_PER_STREAM, MAPPED, _LOOP, MAPPED, 2.0),
    (_ENGINE_PER_STREAM, AVRO, _ENGINE_PER_STREAM, JSON, 1.0),
    (_ENGINE_PER_STREAM, IN_LINES, _LOOP, JSON, 3.0),
    (_ENGINE_PER_STREAM, ARROW, _LOOP, JSON, 6.0),
    (f"{ENGINE}: {HUNDRED}", JSON, ONE_SKETCH.name, JSON, 2.0),
    (_ENGINE_PER_STREAM, JSON, "Quix Streams", JSON, 10.0),
    (_ENGINE_PER_STREAM, JSON, "Bytewax", JSON, 5.0),
]
_HEADER = ("who", "form", "thousand tuples/s", "times the own loop", "on the same topic")


@dataclass
class Results:
    """Tuples a second by contender, form and round."""

    rates: dict[tuple[str, str], dict[int, float]] = field(default_factory=dict)

    def add(self, who: str, form: str, number: int, rate: float) -> None:
        self.rates.setdefault((who, form), {})[number] = rate

    def spread(self, who: str, form: str) -> Spread:
        return Spread.of(list(self.rates[who, form].values()))

    def ratio(self, who: str, form: str, other: str, other_form: str = JSON) -> Spread | None:
        """To another contender that reads another form, round by round."""
        ours, theirs = self.rates.get((who, form), {}), self.rates.get((other, other_form), {})
        rounds = ours.keys() & theirs.keys()
        return Spread.of([ours[n] / theirs[n] for n in rounds]) if rounds else None

    def goals(self) -> list[Goal]:
        found = []
        for who, form, other, other_form, bound in _GOALS:
            ratio = self.ratio(who, form, other, other_form)
            figure = None if ratio is None else ratio.median
            name = f"{who}, {form}, against {other}, {other_form}"
            found.append(Goal(name, figure, bound, " times"))
        return found

    def rows(self) -> list[tuple[str, ...]]:
        rows = []
        for who, form in self.rates:
            ratios = [self.ratio(who, form, USER.name, other) for other in (JSON, form)]
            rate = _shown(self.spread(who, form), 1000)
            rows.append((who, form, rate, *(_shown(ratio, 1) for ratio in ratios)))
        return rows

    def plain(self) -> list[dict[str, Any]]:
        return [
            {
                "who": who,
                "form": form,
                "rates": [round(rate) for rate in rates.values()],
                "times_own_loop": asdict(ratio) if ratio else None,
            }
            for (who, form), rates in self.rates.items()
            for ratio in [self.ratio(who, form, USER.name)]
        ]


def _shown(spread: Spread | None, unit: float) -> str:
    if spread is None:
        return ""
    digits = 0 if unit > 1 else 2
    low, mid, high = (f"{n / unit:,.{digits}f}" for n in (spread.least, spread.median, spread.most))
    return f"{mid} ({low}-{high})"


def line(row: tuple[str, ...]) -> str:
    widths = (36, 15, 24, 19, 19)
    return " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def print_table(results: Results) -> None:
    print(line(_HEADER))
    for row in results.rows():
        print(line(row))


def write(results: Results, machine: dict[str, str], skipped: list[str], folder: Path) -> None:
    """throughput.json, throughput.md and throughput.png."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "on": machine,
        "results": results.plain(),
        "skipped": skipped,
        "goals": [goal.plain() for goal in results.goals()],
    }
    (folder / "throughput.json").write_text(json.dumps(found, indent=1) + "\n")
    lines = [
        "# Tuples a second",
        "",
        "114-byte JSON tuples of 5000 streams; a topic with two partitions for each form, which",
        "everybody reads; the broker is included in the same cores. `json`: one tuple a message,",
        "kept plain, with lz4 or zstd, or read over TLS; `escaped json`: a name with an accent in",
        "each tuple; `shuffled json`: names in many orders; `mapped json`: nested records of",
        "others, with a filter and a product of fields; `avro`: the same flat; `lines`: 1000",
        "tuples a message; `arrow`: frames as the SDK makes them. Median of the rounds",
        "(worst-best); ratios are taken within a round, to the own loop in two processes with a",
        "sketch for each stream: reading `json`, and reading the same topic. The engine saves its",
        "state and answers; the loops do neither. `python -m bench.throughput`.",
        "",
        in_one_line(machine),
        "",
        *markdown_table(_HEADER, results.rows()),
        "",
        *(f"- not measured: {reason}" for reason in skipped),
        *(f"- {goal.line}" for goal in results.goals()),
    ]
    (folder / "throughput.md").write_text("\n".join(lines) + "\n")
    _draw(results, folder / "throughput.png")


def _colour(who: str) -> str:
    return "tab:blue" if who.startswith(ENGINE) else "tab:orange"


def _draw(results: Results, path: Path) -> None:
    import matplotlib  # only here: it takes a second to import

    matplotlib.use("Agg")
    from matplotlib import pyplot

    entries = list(results.rates)
    figure, axes = pyplot.subplots(figsize=(10, 0.32 * len(entries) + 1.2))
    for place, (who, form) in enumerate(entries):
        spread = results.spread(who, form)
        axes.barh(place, spread.median / 1e6, color=_colour(who), alpha=0.7)
        axes.plot([spread.least / 1e6, spread.most / 1e6], [place, place], "|-", color="0.2", ms=6)
    axes.set_yticks(range(len(entries)), [f"{who}, {form}" for who, form in entries])
    axes.invert_yaxis()
    axes.set_xlabel("million tuples a second: median, worst and best round")
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    pyplot.close(figure)
