"""python -m bench.accuracy [--seeds N] [--kind K]: exits with 1 if a promise is broken."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

# Imported for the promises they register.
from bench.accuracy import (  # noqa: F401
    distinct,
    distributions,
    frequencies,
    hard_records,
    hard_values,
    hard_weights,
    samples,
    windows,
)
from bench.accuracy.promise import PROMISES, Finding, examine
from bench.accuracy.report import HEADER, cells, line, write
from synopses import KINDS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000, help="seeds (slow promises take fewer)")
    parser.add_argument("--kind", choices=sorted(KINDS), help="only this kind")
    parser.add_argument("--results", type=Path, default=Path(__file__).parents[1] / "results")
    options = parser.parse_args()
    without = sorted(set(KINDS) - {made.kind for made in PROMISES})
    findings: list[Finding] = []
    began = time.monotonic()
    print("Errors are multiples of what is stated; broken: share of the answers beyond it.")
    print(line(HEADER))
    for made in sorted(PROMISES, key=lambda made: made.kind):
        if options.kind in (None, made.kind):
            for finding in examine(made, options.seeds):
                findings.append(finding)
                print(line(cells(finding)), flush=True)
    if options.kind is None:
        write(findings, options.results)
    broken = [f for f in findings if not f.kept]
    for finding in broken:
        print("broken:", line(cells(finding)))
    for kind in without:
        print(f"no promise of {kind} is measured")
    print(
        f"{len(findings) - len(broken)} of {len(findings)} findings as promised, "
        f"{len({f.kind for f in findings})} kinds, {sum(f.answers for f in findings)} answers, "
        f"{time.monotonic() - began:.0f} s"
    )
    return 1 if broken or without else 0


if __name__ == "__main__":
    sys.exit(main())
