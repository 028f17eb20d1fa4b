"""Findings as a table, JSON and a picture."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

from bench.accuracy.promise import Finding
from bench.tables import markdown_table

HEADER = (
    "kind",
    "promise",
    "input",
    "seeds",
    "answers",
    "median",
    "p99",
    "worst",
    "broken",
    "allowed",
)


def cells(finding: Finding) -> tuple[str, ...]:
    numbers = (finding.median, finding.p99, finding.worst)
    return (
        finding.kind,
        finding.sentence,
        finding.input,
        str(finding.seeds),
        str(finding.answers),
        *(f"{number:.3g}" for number in numbers),
        f"{finding.broken:.4g}",
        f"{finding.allowed:.4g}" + ("" if finding.kept else "  BROKEN"),
    )


def line(row: tuple[str, ...]) -> str:
    widths = (22, 72, 12, 5, 7, 8, 8, 8, 9, 8)
    return " ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()


def write(findings: list[Finding], folder: Path) -> None:
    """accuracy.json, accuracy.md and accuracy.png."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [_plain(dataclasses.asdict(finding)) for finding in findings]
    (folder / "accuracy.json").write_text(json.dumps(rows, indent=1) + "\n")
    lines = [
        "# Stated against observed error",
        "",
        "Errors are multiples of the error promised. `broken`: share of the answers above 1 (for a",
        "standard error: the root mean square); `allowed`: what the promise and chance (3 standard",
        "deviations over the seeds) allow. Made by `python -m bench.accuracy`.",
        "",
        *markdown_table(HEADER, map(cells, findings)),
    ]
    (folder / "accuracy.md").write_text("\n".join(lines) + "\n")
    _draw(findings, folder / "accuracy.png")


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity."""
    return {k: None if isinstance(v, float) and math.isinf(v) else v for k, v in row.items()}


def _draw(findings: list[Finding], path: Path) -> None:
    """Left: how large errors are. Right: how often they are too large, which is what is judged."""
    import matplotlib  # only here: it takes a second to import

    matplotlib.use("Agg")
    from matplotlib import pyplot

    labels = list(dict.fromkeys(f"{f.kind}: {f.sentence}" for f in findings))
    size = (14, 0.3 * len(labels) + 1.4)
    figure, (errors, shares) = pyplot.subplots(1, 2, sharey=True, figsize=size, width_ratios=(3, 2))
    for finding in findings:
        at = labels.index(f"{finding.kind}: {finding.sentence}")
        colour = "tab:blue" if finding.kept else "tab:red"
        # A promise that is kept or not has no size of error: nothing is drawn beyond the first.
        span = [finding.median, finding.p99 if math.isfinite(finding.p99) else finding.median]
        errors.plot(span, [at, at], "|-", color=colour, alpha=0.5, ms=6)
        errors.plot(finding.median, at, "o", color=colour, ms=3)
        shares.plot(_share(finding), at, "o", color=colour, ms=4, alpha=0.6)
    errors.set_yticks(range(len(labels)), labels, fontsize=8)
    errors.invert_yaxis()
    errors.set_xlabel("error / error stated: median to 99 % of the answers, each input")
    shares.set_xlabel(
        "share of answers beyond what is stated / share allowed\n"
        "(for a standard error: root mean square / what is allowed)"
    )
    figure.subplots_adjust(wspace=0.04)
    for axes in (errors, shares):
        axes.axvline(1, color="tab:red", lw=0.8)
        axes.grid(axis="y", color="0.92")
        axes.set_xlim(left=-0.05)
        axes.margins(y=0.01)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    pyplot.close(figure)


def _share(finding: Finding) -> float:
    """What is broken as a multiple of what is allowed; where nothing is, 2 stands for anything."""
    if finding.allowed:
        return min(finding.broken / finding.allowed, 2.0)
    return 2.0 if finding.broken else 0.0
