"""python -m bench.scale: tuples a second with 1, 10, 100, 1000, 5000 and 10,000 synopses.

The synopses are Count-Min sketches made in three ways (bench/scale/cases.py). One engine does all
cases; the tuples (114 bytes of JSON, one a message, 2 partitions) are all in the topic before it
sees the first, and are read in at least eight batches. The first quarter of each case, in which
batches grow, is left out. Cases take turns, round by round, those that are compared next to each
other: the machine is not equally fast at all times. Exits with 1 if going from 100 to
10,000 synopses, at scope stream or with one create each, costs more than 30 % of the rate.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from bench.goals import verdict
from bench.machine import RESULTS
from bench.scale.cases import Case, all_cases, in_turn, tuples_of
from bench.scale.measure import measure
from bench.scale.report import Results, goals, lines, write
from bench.site import Site, new_site
from bench.throughput.topics import Loader

_DISTINCT = 250_000  # tuples that are written again and again, at later times
_BATCHES = 8  # that a case is read in, or more: few would say little
_SECONDS_FOR_REQUESTS = 300.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--tuples", type=int, default=4_000_000, help="of each case and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--largest", type=int, default=10_000, help="leave out cases with more")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    cases = all_cases(options.largest)
    batch = str(options.tuples // _BATCHES)
    with new_site("--largest-batch", batch) as site, site.engine:
        results = _run(site, cases, options.tuples, options.rounds)
    print("\n".join(lines(results)))
    write(results, options.results)
    return verdict(goals(results))


def _run(site: Site, cases: list[Case], tuples: int, rounds: int) -> Results:
    loader, rng = Loader(site.servers), np.random.default_rng(1)
    data = {n: tuples_of(n, min(tuples, _DISTINCT)) for n in {case.streams for case in cases}}
    results: Results = {(case.way, case.number): [] for case in cases}
    with site.client(_SECONDS_FOR_REQUESTS) as sde:
        measure(site, sde, loader, cases[-1], data[cases[-1].streams], tuples)  # learns its pace
        for number in range(rounds):
            for case in in_turn(cases, rng):
                found = measure(site, sde, loader, case, data[case.streams], tuples)
                results[case.way, case.number].append(found)
                print(
                    f"round {number + 1}: {case.number:6} {case.way:16} {found.rate:9,.0f}/s",
                    f"in batches of {found.batch_seconds:.2f} s",
                    flush=True,
                )
    return results


if __name__ == "__main__":
    sys.exit(main())
