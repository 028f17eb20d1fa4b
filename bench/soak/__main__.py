"""python -m bench.soak --minutes 60: everything that users do, all the time, and nothing may grow.

A bounded number of synopses is alive, of kinds, sizes, scopes and windows that change; tuples,
questions, watches, snapshots, restores, plug-ins and deletes go on all the while. Every ten seconds
the memory of all processes of the engine is noted, the bytes of its arena, checkpoint, logs and
snapshots, and the number of its files. In the second half none of them may grow by more than 5 %
(or the room in `bench.soak.samples`, where that is more), by the median slope of the samples.
Exits with 1 if one does, or if a request is refused.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from bench.goals import verdict
from bench.machine import RESULTS
from bench.site import new_site
from bench.soak.report import goals, lines, write
from bench.soak.samples import Sampler
from bench.soak.turns import Soak

_SECONDS_FOR_REQUESTS = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    importlib.import_module("matplotlib")  # after an hour it would be late to find it missing
    with (
        new_site("--plugins", "open") as site,
        site.engine,
        site.client(_SECONDS_FOR_REQUESTS) as sde,
    ):
        soak, ends = Soak(sde, options.seed, site.folder), time.monotonic() + 60 * options.minutes
        with Sampler(site) as samples:
            while time.monotonic() < ends:
                soak.turn()
    write(samples, soak.done, options.results)
    print("\n".join(lines(samples, soak.done)))
    return verdict(goals(samples, soak.done))


if __name__ == "__main__":
    sys.exit(main())
