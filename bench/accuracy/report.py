"""Findings as a table, JSON and a picture."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

from bench.accuracy.promise import Finding

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


def line(finding: Finding) -> str:
    widths = (22, 72, 12, 5, 7, 8, 8, 8, 8, 8)
    return " ".join(c.ljust(w) for c, w in zip(cells(finding), widths, strict=True)).rstrip()


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
        "| " + " | ".join(HEADER) + " |",
        "|" + "---|" * len(HEADER),
    ]
    # A bar in a sentence about a norm would end the table's cell.
    lines += ["| " + " | ".join(c.replace("|", "\\|") for c in cells(f)) + " |" for f in findings]
    (folder / "accuracy.md").write_text("\n".join(lines) + "\n")
    _draw(findings, folder / "accuracy.png")


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity."""
    return {k: None if isinstance(v, float) and math.isinf(v) else v for k, v in row.items()}


def _draw(findings: list[Finding], path: Path) -> None:
    import matplotlib  # only here: it takes a second to import

    matplotlib.use("Agg")
    from matplotlib import pyplot

    labels = list(dict.fromkeys(f"{f.kind}: {f.sentence}" for f in findings))
    figure, axes = pyplot.subplots(figsize=(13, 0.32 * len(labels) + 1.2))
    for finding in findings:
        at = labels.index(f"{finding.kind}: {finding.sentence}")
        axes.plot([finding.median, min(finding.p99, 3)], [at, at], color="0.8", zorder=1)
        axes.plot(finding.median, at, "o", color="tab:blue", ms=3)
        axes.plot(min(finding.p99, 3), at, "|", color="tab:blue" if finding.kept else "tab:red")
    axes.axvline(1, color="tab:red", lw=0.8)
    axes.set_yticks(range(len(labels)), labels, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlim(-0.03, 3.03)
    axes.set_xlabel(
        "error as a multiple of the error promised, median to 99 % of the answers; a mark an input"
    )
    axes.margins(y=0.01)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    pyplot.close(figure)
