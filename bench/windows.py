"""`python -m bench.windows`: what a sliding window of 30 panes costs beside no window.

The maintain stage as a worker runs it (arena in files, blocks in, log entries out), fed with the
same blocks in turn for both, several rounds interleaved; CPU seconds, so that other work on the
machine does not count. Time moves on by one pane every other batch, panes are given back as they
grow old, and after each batch the open window is asked for. dft keeps a window of its own: 30
basic windows against one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.goals import Goal, verdict
from bench.machine import RESULTS, measured_on
from bench.one_shard import OneShard
from sde.decoding import Limits, Messages, decode_tuples
from sde.records.loop import Progress
from sde.tuples.block import Block

PANE_SECONDS, PANES = 10, 30
START = 1_700_000_000_000
_WINDOW = {
    "window": {
        "type": "sliding",
        "size": f"{PANES * PANE_SECONDS}s",
        "slide": f"{PANE_SECONDS}s",
        "keep": f"{PANE_SECONDS}s",
    }
}
_SERIES = {"interval": 1, "basic_window": PANE_SECONDS}


@dataclass(frozen=True)
class Case:
    kind: str
    plain: dict[str, Any]
    windowed: dict[str, Any]
    query: dict[str, Any]


CASES = [
    Case("count_min", {"key": "k"}, {"key": "k", **_WINDOW}, {"key": "1"}),
    Case("hyperloglog", {"key": "k"}, {"key": "k", **_WINDOW}, {"type": "cardinality"}),
    Case("moments", {"value": "v"}, {"value": "v", **_WINDOW}, {"type": "mean"}),
    Case(
        "dft",
        {"value": "v", "params": {**_SERIES, "window": PANE_SECONDS, "coefficients": 4}},
        {"value": "v", "params": {**_SERIES, "window": PANES * PANE_SECONDS, "coefficients": 4}},
        {"type": "spectrum"},
    ),
]


class Stage:
    """One shard with one synopsis of scope `stream`, batch after batch."""

    def __init__(self, folder: Path, case: Case, fields: dict[str, Any]) -> None:
        self._stage = OneShard(folder)
        self._case = case
        request = {"op": "create", "uid": "u", "dataset": "d", "kind": case.kind, **fields}
        self._stage.ask({**request, "scope": "stream"})

    def add(self, blocks: list[Block]) -> float:
        """CPU seconds of a batch with a question, and of what goes round the loop after it."""
        ask = {"op": "estimate", "uid": "u", "stream": "s1", "query": self._case.query}
        before = time.process_time()
        reports = self._stage.ask(ask, blocks)
        self._stage.tell([report for report in reports if isinstance(report, Progress)])
        return time.process_time() - before


def batch_of(tuples: int, streams: int, batch: int) -> list[Block]:
    """JSON lines of half a pane, decoded: what the exchange hands to maintain."""
    rng = np.random.default_rng(batch)
    start = START + batch * PANE_SECONDS * 500
    times = start + np.sort(rng.integers(0, PANE_SECONDS * 500, tuples))
    stream, key = rng.integers(0, streams, tuples), rng.zipf(1.3, tuples) % 10_000
    value = rng.normal(100, 5, tuples).round(3)
    rows = zip(times.tolist(), stream.tolist(), key.tolist(), value.tolist(), strict=True)
    text = "\n".join(
        f'{{"dataset":"d","stream":"s{s}","time":{t},"values":{{"k":{k},"v":{v}}}}}'
        for t, s, k, v in rows
    )
    payload = np.frombuffer(text.encode() + b"\n", np.uint8)
    zero, end = np.zeros(1, np.int64), np.array([len(payload) - 1])
    messages = Messages("t", 0, payload, zero, end, zero + batch, times[-1:])
    return decode_tuples(messages, 1, Limits(max_message_bytes=1 << 30)).blocks


def measure(case: Case, tuples: int, streams: int, batches: int, rounds: int) -> list[float]:
    """How many times as much the window costs, by round."""
    data = [batch_of(tuples, streams, n) for n in range(batches)]
    ratios = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            plain = Stage(Path(folder) / "plain", case, case.plain)
            windowed = Stage(Path(folder) / "windowed", case, case.windowed)
            costs = [(plain.add(blocks), windowed.add(blocks)) for blocks in data]
        warm = costs[batches // 4 :]
        ratios.append(sum(w for _, w in warm) / sum(p for p, _ in warm))
    return ratios


def main() -> int:
    parser = argparse.ArgumentParser("bench.windows", description=__doc__)
    parser.add_argument("--tuples", type=int, default=200_000, help="of a batch")
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--batches", type=int, default=100, help="two make a pane")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    found = {}
    for case in CASES:
        found[case.kind] = measure(case, given.tuples, given.streams, given.batches, given.rounds)
        spread = ", ".join(f"{ratio:.2f}" for ratio in found[case.kind])
        print(f"{case.kind}: {median(found[case.kind]):.2f} times (rounds: {spread})", flush=True)
    goals = [
        Goal(f"{kind}: cost of 30 panes beside none", median(ratios), 2.0, "x", at_most=True)
        for kind, ratios in found.items()
    ]
    given.results.mkdir(parents=True, exist_ok=True)
    told = {
        "measured_on": measured_on(),
        "settings": {n: v for n, v in vars(given).items() if n != "results"},
        "ratios": found,
        "goals": [goal.plain() for goal in goals],
    }
    (given.results / "windows.json").write_text(json.dumps(told, indent=2) + "\n")
    return verdict(goals)


if __name__ == "__main__":
    sys.exit(main())
