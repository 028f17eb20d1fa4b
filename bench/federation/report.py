"""What was found as JSON, a table, a picture, and the goals."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from bench.federation.adhoc import Asked
from bench.federation.drifting import Drifted
from bench.goals import Goal
from bench.machine import in_one_line
from bench.tables import markdown_table

STATED = 0.05  # drift of the goal, as a share of the value


def goals(asked: Asked | None, drifted: list[Drifted]) -> list[Goal]:
    polled = next((each for each in drifted if each.drift is None), None)
    silent = next((each for each in drifted if each.drift == STATED), None)
    fewer = polled.bytes / silent.bytes if polled and silent else None
    missed = sum(each.violations for each in drifted) if drifted else None
    return [
        Goal("tuples against questions, bytes", asked and asked.raw / asked.bytes, 10.0, " times"),
        Goal("incomplete or wrong answers", asked and asked.wrong, 0, at_most=True),
        Goal(f"questions against drift of {STATED:.0%}, bytes", fewer, 10.0, " times"),
        Goal("violations that were missed", missed, 0, at_most=True),
    ]


def rows(drifted: list[Drifted]) -> list[tuple[str, ...]]:
    return [
        (
            "asked every 10 s" if each.drift is None else f"drift {each.drift:.0%}",
            f"{each.bytes:,}",
            str(each.frames),
            str(each.violations),
            "" if each.drift is None else f"{each.furthest:.2f}",
        )
        for each in drifted
    ]


HEADER = ("F2 of the last minute", "bytes", "frames", "violations missed", "furthest off, of drift")


def write(
    asked: Asked | None, drifted: list[Drifted], machine: dict[str, str], folder: Path
) -> None:
    """federation.json, federation.md and federation.png."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {
        "on": machine,
        "asked": asked and asdict(asked),
        "drifted": [asdict(each) for each in drifted],
        "goals": [goal.plain() for goal in goals(asked, drifted)],
    }
    (folder / "federation.json").write_text(json.dumps(told, indent=1) + "\n")
    lines = ["# What travels between sites", "", "Made by `python -m bench.federation`.", ""]
    if asked is not None:
        lines += [
            "Three running engines, 5000 streams over them, a tuple of each a second, "
            f"{asked.turns} times 10 s: {asked.raw:,} bytes are the tuples of the two sites that "
            f"were not asked, {asked.bytes:,} bytes went between the sites for {asked.questions} "
            "questions (four every 10 s: count_min, hyperloglog, quantiles, ams).",
            "",
        ]
    if drifted:
        lines += [
            f"A sketch of the last minute of 5000 tuples a second at three sites, "
            f"{drifted[0].seconds} s, the watch with its beginning; at each second the answer is "
            "compared with one sketch of everything. These sites are the engine's stages without "
            "Spark and Kafka, so that all stand still while they are compared.",
            "",
            *markdown_table(HEADER, rows(drifted)),
            "",
        ]
    lines += [in_one_line(machine), "", *(f"- {g.line}" for g in goals(asked, drifted))]
    (folder / "federation.md").write_text("\n".join(lines) + "\n")
    if drifted:
        _draw(drifted, folder / "federation.png")


def _draw(drifted: list[Drifted], path: Path) -> None:
    import matplotlib  # only here: it takes a second to import

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    watches = [each for each in drifted if each.drift is not None]
    axes.plot(
        [100 * (each.drift or 0) for each in watches],
        [each.bytes for each in watches],
        marker="o",
        label="a watch with drift, answers every second",
    )
    for polled in (each for each in drifted if each.drift is None):
        axes.axhline(polled.bytes, color="0.4", linestyle="--", label="asked every 10 s")
    axes.set_yscale("log")
    axes.set_xlabel("drift, % of the value")
    axes.set_ylabel(f"bytes between sites in {drifted[0].seconds} s")
    axes.grid(color="0.92")
    axes.legend()
    figure.savefig(path, dpi=110, bbox_inches="tight")
    pyplot.close(figure)
