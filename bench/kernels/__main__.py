"""python -m bench.kernels: updates a second of every kind, on one core.

Beside each kind stand Apache DataSketches' Python (item by item, and vectorised where it can) and
plain numpy; see bench/kernels/race.py for what is measured. Exits with 1 if a goal is missed:
count_min, hyperloglog, bloom, fm and ams at least 5 times DataSketches item by item, in banks at
least 2 times, and nothing slower than plain numpy.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from bench.kernels.columns import columns
from bench.kernels.race import Result, bank, one
from bench.kernels.report import HEADER, cells, line, write
from synopses import KINDS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.kernels", description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000, help="items in a round")
    parser.add_argument("--slots", type=int, default=5_000, help="synopses in a bank")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, contenders in turn")
    parser.add_argument("--kind", choices=sorted(KINDS), help="only this kind")
    parser.add_argument("--results", type=Path, default=Path(__file__).parents[1] / "results")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # one core for everybody, numpy's BLAS included
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    data = columns(options.items, options.slots)
    results: list[Result] = []
    print(line(HEADER))
    for kind in sorted(KINDS) if options.kind is None else [options.kind]:
        for result in (
            one(kind, data, options.rounds),
            bank(kind, data, options.slots, options.rounds),
        ):
            results.append(result)
            print(line(cells(result)), flush=True)
    if options.kind is None:
        write(results, options.results)
    shares = [
        (result.ratios[name].median / goal, f"{result.kind} ({result.setting}) against {name}")
        for result in results
        for name, goal in result.goals().items()
    ]
    missed = [f"{r.kind} ({r.setting}) against {name}" for r in results for name in r.missed()]
    for text in missed:
        print("goal missed:", text)
    worst, where = min(shares, default=(float("inf"), "no goal"))
    print(f"{len(shares) - len(missed)} of {len(shares)} goals met; the nearest to its goal:")
    print(f"worst ratio {worst:.2f} of the goal, {where}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
