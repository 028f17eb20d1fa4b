"""python -m bench.quick: has the engine become slower? Two to three minutes.

A few cases of `python -m bench.throughput`, as ratios to the own loop
in the same run, beside those in bench/results: a loss of more than a quarter makes it fail.
Ratios, because machines differ and are shared; a loss must show in the best of the rounds.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.machine import RESULTS
from bench.throughput.cases import PER_STREAM, Case
from bench.throughput.peers import USER
from bench.throughput.report import ENGINE, print_table
from bench.throughput.rounds import run

CASES = [Case(PER_STREAM, form) for form in ("json", "lines", "arrow")]
LARGEST_LOSS = 0.25


@dataclass(frozen=True, slots=True)
class Compared:
    """A ratio to the own loop: as committed, and now (the best round)."""

    name: str
    committed: float
    now: float

    @property
    def lost(self) -> bool:
        return self.now < (1 - LARGEST_LOSS) * self.committed

    @property
    def line(self) -> str:
        change = 100 * (self.now / self.committed - 1)
        mark = "LOST" if self.lost else "ok"
        return (
            f"{mark}: {self.name}: {self.now:.2f} times the own loop, {self.committed:.2f} in "
            f"the committed results ({change:+.0f} %)"
        )


def committed_ratios(path: Path) -> dict[tuple[str, str], float]:
    """Medians of the last full run, by contender and form."""
    if not path.exists():
        raise SystemExit(
            f"{path.name} is missing in {path.parent.name}: run bench.throughput first"
        )
    results = json.loads(path.read_text())["results"]
    return {
        (each["who"], each["form"]): each["times_own_loop"]["median"]
        for each in results
        if each["times_own_loop"]
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.quick", description=__doc__)
    parser.add_argument("--tuples", type=int, default=2_000_000, help="of a case, one a message")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    committed = committed_ratios(options.results / "throughput.json")
    results = run(options.tuples, options.rounds, CASES, [USER]).results
    print_table(results)
    compared = []
    for case in CASES:
        who = f"{ENGINE}: {case.synopses}"
        now = results.ratio(who, case.form, USER.name)
        if now is not None and (who, case.form) in committed:
            compared.append(Compared(case.name, committed[who, case.form], now.most))
    for each in compared:
        print(each.line)
    lost = [each for each in compared if each.lost]
    print(f"{len(compared) - len(lost)} of {len(compared)} as fast as in the committed results")
    return 1 if lost or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
