"""python -m bench.throughput: tuples a second, beside what a user would pick instead.

One broker; every contender gets the same tuples, loaded before it begins to read and in memory, so
that no disk is measured. Contenders take turns, round after round. Exits with 1 if a goal is
missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.goals import verdict
from bench.machine import RESULTS, measured_on
from bench.throughput.cases import CASES
from bench.throughput.peer_environment import peer_versions
from bench.throughput.peers import PEERS
from bench.throughput.report import ENGINE, print_table, write
from bench.throughput.rounds import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.throughput", description=__doc__)
    parser.add_argument("--tuples", type=int, default=10_000_000, help="of a case, one a message")
    parser.add_argument("--rounds", type=int, default=2, help="rounds, contenders in turn")
    parser.add_argument("--only", help="only contenders and cases with this text in their names")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    wanted = options.only or ""
    cases = [case for case in CASES if wanted in f"{ENGINE}: {case.name}"]
    others = [peer for peer in PEERS if wanted in f"{peer.name}, {peer.form}"]
    bench = run(options.tuples, options.rounds, cases, others)
    print_table(bench.results)
    if not wanted:
        others_are = peer_versions(bench.peer_python) if bench.peer_python else {}
        machine = {**measured_on(), **others_are}
        write(bench.results, machine, bench.skipped, options.results)
    return verdict(bench.results.goals())


if __name__ == "__main__":
    sys.exit(main())
