"""`python -m bench.federation`: bytes between sites, against shipping tuples and against asking."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.federation import adhoc, drifting, report
from bench.goals import verdict
from bench.machine import RESULTS, measured_on

_SHARES = (None, 0.01, 0.02, report.STATED, 0.1)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.federation", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="of questions to real engines")
    parser.add_argument("--drifting", type=int, default=600, help="seconds of a stationary stream")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    drifted = []
    for share in _SHARES:
        drifted.append(drifting.run(share, options.drifting))
        print(", ".join(": ".join(pair) for pair in _named(drifted[-1])), flush=True)
    asked = adhoc.run(options.seconds)
    print(
        f"tuples: {asked.raw:,} bytes; {asked.questions} questions over them:"
        f" {asked.bytes:,} bytes",
        flush=True,
    )
    report.write(asked, drifted, measured_on(), options.results)
    return verdict(report.goals(asked, drifted))


def _named(drifted: drifting.Drifted) -> list[tuple[str, str]]:
    return list(zip(report.HEADER, report.rows([drifted])[0], strict=True))


if __name__ == "__main__":
    sys.exit(main())
