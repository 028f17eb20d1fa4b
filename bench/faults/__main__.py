"""python -m bench.faults --kills 30: random kills under load, then a recomputation.

Tuples come at a steady pace from a process of their own and requests all the time, while random
parts of a real engine are killed with SIGKILL at random moments: the driver, a Python worker,
the broker, the driver again in the middle of its recovery. What does not come back by itself is
started again, as a supervisor would. Afterwards every state has to be byte for byte, and every
answer given under way exactly, what a batch program makes of the same tuples, and every request
must have one reply among the committed ones.

Then the recovery of 5000 Count-Min sketches is timed beside the fresh start of an empty engine.
Exits with 1 on any mismatch, if that recovery takes more than twice as long, or if an answer comes
later than 20 s after the driver was killed, or 10 s after the broker was (medians).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from bench.faults.asking import Asking, committed_replies, not_answered_once
from bench.faults.check import wait_until_counted, wrong_answers, wrong_states
from bench.faults.kills import Killer, draw_kinds
from bench.faults.load import Load
from bench.faults.recovery import starts
from bench.faults.report import Outcome, goals, lines, write
from bench.goals import verdict
from bench.machine import RESULTS
from bench.site import new_site

_SECONDS_FOR_REQUESTS = 300.0
_PAUSES = (0.5, 6.0)  # seconds between a recovery and the next kill


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--rate", type=int, default=5_000, help="tuples a second")
    parser.add_argument("--starts", type=int, default=3, help="rounds of timed starts")
    parser.add_argument("--tuples", type=int, default=8_000_000, help="before a timed recovery")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    outcome = Outcome()
    if options.kills:
        _kill(outcome, options.kills, options.rate, options.seed)
        print(f"compared with a recomputation: {len(outcome.mismatches)} mismatches", flush=True)
    for number in range(options.starts):
        for found in starts(options.tuples):
            if isinstance(found, str):
                outcome.mismatches.append(found)
            else:
                outcome.starts.append(found)
            print(f"round {number + 1}: {found}", flush=True)
    print("\n".join(lines(outcome)))
    write(outcome, options.results)
    return verdict(goals(outcome))


def _kill(outcome: Outcome, kills: int, rate: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with new_site() as site:
        site.engine.start()
        try:
            with Asking(site.servers, seed) as asking, Load(site.servers, rate) as load:
                killer = Killer(site, asking, seed)
                for number, kind in enumerate(draw_kinds(kills, seed), 1):
                    time.sleep(rng.uniform(*_PAUSES))
                    kill = killer.kill(kind)
                    outcome.kills.append(kill)
                    print(f"{number}/{kills} {kill}", flush=True)
                outcome.tuples = load.stop()
                asking.stop()
            with site.client(_SECONDS_FOR_REQUESTS) as sde:
                wait_until_counted(sde, outcome.tuples)
                outcome.mismatches += wrong_states(sde, outcome.tuples)
        finally:
            site.engine.kill()
        outcome.requests = len(asking.requests)
        replies = committed_replies(site.servers)
        outcome.mismatches += not_answered_once(asking.requests, replies)
        outcome.mismatches += wrong_answers(asking.requests, replies, outcome.tuples)


if __name__ == "__main__":
    sys.exit(main())
