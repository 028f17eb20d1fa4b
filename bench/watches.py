"""`python -m bench.watches`: what 1000 watches, each answering every second, cost a running stream.

One engine, 5000 streams with a Count-Min each. The same tuples are read with and without the
watches, in turn; all of them lie ready before the first is read. Ticks are on time if two answers
of a watch are never further apart than a second and the batches that such a span can touch: the
one that runs when the tick is due and the one that answers it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from bench.batches import Batch, read_batches
from bench.faults.asking import committed_replies
from bench.goals import Goal, verdict
from bench.machine import RESULTS, measured_on
from bench.rates import Mark, batch_rate
from bench.site import DATA, Site, new_site
from bench.throughput.forms import again_and_again
from bench.throughput.topics import Loader
from bench.throughput.tuples import DATASET, STREAMS, make_tuples
from clients import Client

_DISTINCT = 250_000
_EVERY = 1.0
_BATCHES = 8  # that a turn is read in, or more: few would say little


def main() -> int:
    parser = argparse.ArgumentParser("bench.watches", description=__doc__)
    parser.add_argument("--tuples", type=int, default=4_000_000, help="of each turn")
    parser.add_argument("--watches", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    rates: dict[bool, list[float]] = {False: [], True: []}
    lateness: list[float] = []
    batch = str(given.tuples // _BATCHES)
    with new_site("--largest-batch", batch) as site, site.engine, site.client(300) as sde:
        loader, parts = Loader(site.servers), make_tuples(_DISTINCT)
        sde.create("count_min", dataset=DATASET, uid="trades", key="trader", scope="stream")
        _turn(site, loader, parts, given.tuples)  # learns its pace
        for number in range(given.rounds):
            for watched in (False, True):
                ids = _watch(sde, given.watches) if watched else []
                batches, rate = _turn(site, loader, parts, given.tuples)
                rates[watched].append(rate)
                if watched:
                    lateness += _lateness(site, batches, set(ids))
                    for pending in [sde.submit("unwatch", watch=watch) for watch in ids]:
                        pending.result()
                said = "with" if watched else "without"
                print(f"round {number + 1}: {rate:9,.0f}/s {said} watches", flush=True)
    share = median(rates[True]) / median(rates[False])
    goals = [
        Goal("throughput with watches, as a share of without", share, 0.8),
        Goal(
            "worst answer beyond its tick and its batches", max(lateness), 0.0, " s", at_most=True
        ),
    ]
    given.results.mkdir(parents=True, exist_ok=True)
    told = {
        "measured_on": measured_on(),
        "settings": {n: v for n, v in vars(given).items() if n != "results"},
        "rates": {"with": rates[True], "without": rates[False]},
        "gaps_measured": len(lateness),
        "goals": [goal.plain() for goal in goals],
    }
    (given.results / "watches.json").write_text(json.dumps(told, indent=2) + "\n")
    return verdict(goals)


def _watch(sde: Client, count: int) -> list[str]:
    pending = [
        sde.submit(
            "watch", uid="trades", stream=f"S{n % STREAMS:04}", query={"key": "T00001"}, every="1s"
        )
        for n in range(count)
    ]
    return [one.result()["watch"] for one in pending]


def _turn(site: Site, loader: Loader, parts: list[Any], count: int) -> tuple[list[Batch], float]:
    """The batches that read so many tuples, and the rate."""
    load = loader.put(DATA, again_and_again("json", parts, count))
    before = len(read_batches(site.engine.folder))
    loader.show()
    read = site.batches_that_read(load, before)
    ends = [Mark(batch.ended, load.read(batch.offsets)) for batch in read]
    marks = [Mark(read[0].began, 0), *ends]
    return read, batch_rate(marks)


def _lateness(site: Site, batches: list[Batch], watches: set[str]) -> list[float]:
    """How far beyond its due time and its batches each answer came (negative: in time)."""
    ended = {batch.number: batch.ended for batch in batches}
    longest = max(batch.stages["triggerExecution"] for batch in batches)
    allowed = max(_EVERY, longest) + 2 * longest
    times: dict[str, list[float]] = defaultdict(list)
    for reply in committed_replies(site.servers):
        if reply.get("request") in watches and "number" in reply and reply["batch"] in ended:
            times[reply["request"]].append(ended[reply["batch"]])
    if len(times) < len(watches):
        raise ValueError(f"only {len(times)} of {len(watches)} watches answered")
    return [
        later - earlier - allowed
        for answers in times.values()
        for earlier, later in itertools.pairwise(answers)
    ]


if __name__ == "__main__":
    sys.exit(main())
