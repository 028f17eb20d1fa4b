"""Results of the fault runs as lines, JSON and a picture."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from bench.faults.kills import Kill
from bench.faults.recovery import BARE, DELTA, EPSILON, FRESH, KILLED, Start
from bench.goals import Goal
from bench.machine import measured_on

TIMES_FRESH = 2.0  # a recovery may take this many times as long as a fresh start
MEDIANS = {"driver": 20.0, "broker": 10.0}  # seconds from a kill to the next answer


@dataclass
class Outcome:
    kills: list[Kill] = field(default_factory=list)
    tuples: int = 0
    requests: int = 0
    mismatches: list[str] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)


def lines(outcome: Outcome) -> list[str]:
    counts = Counter(kill.kind for kill in outcome.kills)
    said = [
        f"kills: {len(outcome.kills)} ("
        + ", ".join(f"{kind}: {count}" for kind, count in sorted(counts.items()))
        + ")",
        f"tuples: {outcome.tuples:,}",
        f"requests: {outcome.requests:,}",
        f"mismatches = {len(outcome.mismatches)}",
        *outcome.mismatches[:20],
    ]
    for kind in sorted(counts):
        of_kind = [kill for kill in outcome.kills if kill.kind == kind]
        seconds = [kill.seconds for kill in of_kind]
        restarts = sum(kill.restarts for kill in of_kind)
        said.append(f"recovery from a killed {kind}: {_spread(seconds)}; engine starts: {restarts}")
    for what in (FRESH, KILLED, BARE):
        some = [start for start in outcome.starts if start.what == what]
        if some:
            size = median(start.state_bytes for start in some) / 1e6
            said.append(
                f"start, {what}: ready after {_spread([s.ready for s in some])}, first answer "
                f"after {_spread([s.answered for s in some])}; state {size:.0f} MB"
            )
    return said


def _spread(seconds: Sequence[float]) -> str:
    low, middle, high, most = np.percentile(seconds, (0, 50, 90, 100))
    return f"median {middle:.1f} s, 90 % {high:.1f} s, {low:.1f}-{most:.1f} s"


def goals(outcome: Outcome) -> list[Goal]:
    named = f"5000 count_min (epsilon {EPSILON}, delta {DELTA})"
    return [
        Goal("mismatches", float(len(outcome.mismatches)), 0, at_most=True),
        *(
            Goal(f"median recovery of the {kind}", _median(outcome, kind), bound, " s", True)
            for kind, bound in MEDIANS.items()
        ),
        *(
            Goal(
                f"first answer with {named}, {what}, against a fresh start",
                _times_fresh(outcome.starts, what),
                TIMES_FRESH,
                " times",
                at_most=True,
            )
            for what in (KILLED, BARE)
        ),
    ]


def _median(outcome: Outcome, kind: str) -> float | None:
    seconds = [kill.seconds for kill in outcome.kills if kill.kind == kind]
    return median(seconds) if seconds else None


def _times_fresh(starts: Sequence[Start], what: str) -> float | None:
    fresh, others = (
        [start.answered for start in starts if start.what == one] for one in (FRESH, what)
    )
    return median(others) / median(fresh) if others else None


def write(outcome: Outcome, folder: Path) -> None:
    """faults.json and faults.png."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "on": measured_on(),
        "goals": [goal.plain() for goal in goals(outcome)],
        **asdict(outcome),
    }
    (folder / "faults.json").write_text(json.dumps(found, indent=1) + "\n")
    _draw(outcome, folder / "faults.png")


def _draw(outcome: Outcome, path: Path) -> None:
    import matplotlib  # only here: it takes a second to import

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (kills, starts) = pyplot.subplots(1, 2, figsize=(13, 4.5))
    rows = {kind: i for i, kind in enumerate(sorted({kill.kind for kill in outcome.kills}))}
    for kind, at in rows.items():
        seconds = sorted(kill.seconds for kill in outcome.kills if kill.kind == kind)
        kills.plot(seconds, [at] * len(seconds), "|", ms=14, color="tab:blue")
        kills.plot(median(seconds), at, "o", ms=5, color="tab:red")
    kills.set_yticks(list(rows.values()), list(rows))
    kills.set_title("seconds from a kill to the next answer (median red)", fontsize=10)
    whats = [w for w in (FRESH, KILLED, BARE) if any(s.what == w for s in outcome.starts)]
    for at, what in enumerate(whats):
        some = [start for start in outcome.starts if start.what == what]
        starts.plot([s.ready for s in some], [at - 0.08] * len(some), "x", color="tab:grey")
        starts.plot([s.answered for s in some], [at + 0.08] * len(some), "o", color="tab:blue")
    if FRESH in whats:
        fresh = median(start.answered for start in outcome.starts if start.what == FRESH)
        starts.axvline(TIMES_FRESH * fresh, color="tab:red", lw=0.8)
    starts.set_yticks(range(len(whats)), whats)
    starts.set_title(
        "seconds from start to ready (x) and to the first answer (o), 5000 sketches", fontsize=10
    )
    for axes in (kills, starts):
        axes.set_xlim(left=0)
        axes.margins(y=0.3)
        axes.grid(axis="x", color="0.92")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
