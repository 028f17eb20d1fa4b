"""Results of a soak as lines, JSON and a picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench.goals import Goal
from bench.machine import measured_on
from bench.soak.samples import ROOM, Sample, growth
from bench.soak.turns import Turns


def goals(samples: Sequence[Sample], done: Turns) -> list[Goal]:
    flat = [
        Goal(
            f"growth of the {name.replace('_', ', ')} in the second half, of what it may",
            growth(samples, name),
            1.0,
            " times",
            at_most=True,
        )
        for name in ROOM
    ]
    return [*flat, Goal("requests refused", float(done.refused), 0, at_most=True)]


def lines(samples: Sequence[Sample], done: Turns) -> list[str]:
    counted = ", ".join(f"{count:,} {name}" for name, count in asdict(done).items())
    if not samples:
        return [counted]
    return [
        f"in the middle: {samples[len(samples) // 2]}",
        f"at the end: {samples[-1]}",
        f"{counted} in {samples[-1].seconds / 60:.1f} minutes",
    ]


def write(samples: Sequence[Sample], done: Turns, folder: Path) -> None:
    """soak.json and soak.png."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "on": measured_on(),
        "goals": [goal.plain() for goal in goals(samples, done)],
        "done": asdict(done),
        "samples": [asdict(sample) for sample in samples],
    }
    (folder / "soak.json").write_text(json.dumps(found, indent=1) + "\n")
    _draw(samples, folder / "soak.png")


def _draw(samples: Sequence[Sample], path: Path) -> None:
    import matplotlib  # only here: it takes a second to import

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, grid = pyplot.subplots(2, 4, figsize=(17, 7), sharex=True)
    minutes = [sample.seconds / 60 for sample in samples]
    for axes, name in zip(grid.flat, ROOM, strict=True):
        is_number = name.endswith("files")
        unit = 1 if is_number else 1e6
        axes.plot(minutes, [getattr(sample, name) / unit for sample in samples])
        title = name.replace("_", ", ")
        axes.set_title(title if is_number else f"{title}, MB", fontsize=10)
        axes.set_ylim(bottom=0)
        axes.grid(color="0.92")
    for axes in grid[1]:
        axes.set_xlabel("minutes")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
