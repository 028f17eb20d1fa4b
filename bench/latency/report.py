"""Latencies as a table, JSON, a picture, and the goals they have to meet."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from bench.goals import Goal
from bench.latency.lane import LaneFigures
from bench.latency.questions import Asked, Percentiles
from bench.machine import in_one_line
from bench.tables import markdown_table

LANE_IDLE, LANE_LOADED = "lane over HTTP, idle", "lane over HTTP, half load"
_A_LOT = 0.1  # seconds, of which thousandths are no matter
_HEADER = ("setting", "questions", "p50", "p95", "p99")


@dataclass(frozen=True)
class Latencies:
    lying: float  # tuples a second the engine takes if they lie ready
    live: float  # tuples a second it takes if they come meanwhile, and the broker takes them in
    loads: dict[str, float]  # tuples a second that came, by setting
    asked: dict[str, list[Asked]]  # by setting
    stages: dict[str, dict[str, float]]  # mean seconds by setting and stage
    ready: list[float]  # seconds of each start
    lane: LaneFigures

    def goals(self) -> list[Goal]:
        p95 = {name: Percentiles.of(asked).p95 for name, asked in self.asked.items()}
        ready = median(self.ready) if self.ready else None
        return [
            Goal("estimate, idle, p95", p95["idle"], 1.0, " s", at_most=True),
            Goal("estimate at half load, p95", p95["half load"], 2.0, " s", at_most=True),
            Goal("ready after `sde serve`", ready, 25.0, " s", at_most=True),
            Goal(f"{LANE_IDLE}, p95", 1000 * p95[LANE_IDLE], 10, " ms", at_most=True),
            Goal(f"{LANE_LOADED}, p95", 1000 * p95[LANE_LOADED], 60, " ms", at_most=True),
            *self.lane.goals(),
        ]

    def rows(self) -> list[tuple[str, ...]]:
        rows = []
        for name, asked in self.asked.items():
            found = Percentiles.of(asked)
            seconds = (shown(s) for s in (found.p50, found.p95, found.p99))
            rows.append((name, str(len(asked)), *seconds))
        return rows

    def lines(self) -> list[str]:
        """For the terminal."""
        lines = [_aligned(row) for row in (_HEADER, *self.rows())]
        for setting, stages in self.stages.items():
            lines.append(f"where the time goes, {setting} (mean):")
            lines += [f"  {name:36} {1000 * seconds:7.0f} ms" for name, seconds in stages.items()]
        return [*lines, self.load_line, self.lane.line, *([self.ready_line] if self.ready else [])]

    @property
    def load_line(self) -> str:
        paces = f"at most {self.live:,.0f} tuples/s ({self.lying:,.0f} if they lie ready)"
        return "; ".join([paces, *(f"{name}: {load:,.0f}" for name, load in self.loads.items())])

    @property
    def ready_line(self) -> str:
        return "ready after " + ", ".join(f"{seconds:.1f}" for seconds in self.ready) + " s"


def shown(seconds: float) -> str:
    """
    >>> shown(0.0123), shown(1.234)
    ('12.3 ms', '1.23 s')
    """
    return f"{seconds:.2f} s" if seconds >= _A_LOT else f"{1000 * seconds:.1f} ms"


def _aligned(row: tuple[str, ...]) -> str:
    widths = (30, 10, 8, 8, 8)
    return " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def write(found: Latencies, machine: dict[str, str], folder: Path) -> None:
    """latency.json, latency.md and latency.png."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {
        "on": machine,
        "most_tuples_a_second": round(found.live),
        "lying_ready_tuples_a_second": round(found.lying),
        "loads": {name: round(load) for name, load in found.loads.items()},
        "percentiles": {name: asdict(Percentiles.of(a)) for name, a in found.asked.items()},
        "stages": found.stages,
        "ready": found.ready,
        "lane": asdict(found.lane),
        "goals": [goal.plain() for goal in found.goals()],
    }
    (folder / "latency.json").write_text(json.dumps(kept, indent=1) + "\n")
    stages = dict.fromkeys(name for each in found.stages.values() for name in each)
    settings = list(found.stages)
    lines = [
        "# From a question sent to its answer received",
        "",
        f"One Count-Min for each of 5000 streams; {found.load_line}. One tuple a message; broker",
        "and engine share the cores. Made by `python -m bench.latency`.",
        "",
        in_one_line(machine),
        "",
        *markdown_table(_HEADER, found.rows()),
        "",
        "Where the time goes (mean). Names are Spark's; `addBatch` is the three stages and the",
        "writing of the answers, which come before the batch is over.",
        "",
        *markdown_table(
            ["stage", *settings],
            (
                [stage, *(f"{1000 * found.stages[s].get(stage, 0.0):.0f} ms" for s in settings)]
                for stage in stages
            ),
        ),
        "",
        f"{found.lane.line}.",
        "",
        *([f"`sde serve`: {found.ready_line}.", ""] if found.ready else []),
        *(f"- {goal.line}" for goal in found.goals()),
    ]
    (folder / "latency.md").write_text("\n".join(lines) + "\n")
    _draw(found, folder / "latency.png")


def _draw(found: Latencies, path: Path) -> None:
    import matplotlib  # only here: it takes a second to import

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    for name, asked in found.asked.items():
        seconds = np.sort([each.seconds for each in asked])
        axes.plot(seconds, np.arange(1, len(seconds) + 1) / len(seconds), label=name)
    axes.set_xlabel("seconds from question to answer")
    axes.set_ylabel("share of the answers")
    axes.axhline(0.95, color="0.7", lw=0.8)
    axes.set_xlim(left=0)
    axes.grid(color="0.92")
    axes.legend()
    figure.savefig(path, dpi=110, bbox_inches="tight")
    pyplot.close(figure)
