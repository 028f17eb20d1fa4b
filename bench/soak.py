"""python -m bench.soak --minutes 20: creates, deletes, sends and asks all the time.

A bounded number of synopses is alive, of kinds, sizes and scopes that change. Every ten seconds
the memory of the engine's processes and the bytes of its arena and its checkpoint are noted. At
the end they have to be flat: the median of the last quarter at most 10 % above that of the
quarter before. Exits with 1 if one is not, or if a request is refused.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.goals import Goal, verdict
from bench.machine import RESULTS, measured_on
from bench.processes import folder_bytes, memory
from bench.site import Site, new_site
from clients import Client, Refused, UnknownStream

_SAMPLE_SECONDS = 10.0
_SAMPLES_A_LINE = 6  # that is printed meanwhile
_SECONDS_FOR_REQUESTS = 120.0
_GROWTH = 1.1  # of a median from one quarter to the next
_DATASETS, _STREAMS, _KEYS = 4, 300, 5_000
_ALIVE, _CHANGED, _TUPLES = 100, 10, 10_000  # synopses; creates, deletes, tuples of a turn
# What is made, and a question that it answers.
_KINDS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"kind": "count_min", "key": "k"}, {"type": "frequency", "key": "1"}),
    ({"kind": "count_min", "key": "k", "params": {"epsilon": 0.002}}, {"type": "total"}),
    ({"kind": "hyperloglog", "key": "k"}, {"type": "cardinality"}),
    ({"kind": "hyperloglog", "key": "k", "params": {"lg_k": 10}}, {"type": "cardinality"}),
    ({"kind": "quantiles", "value": "v"}, {"type": "quantile", "q": 0.5}),
    ({"kind": "frequent_items", "key": "k"}, {"type": "total"}),
    ({"kind": "sample", "key": "k"}, {"type": "population"}),
    ({"kind": "theta", "key": "k", "params": {"lg_k": 9}}, {"type": "cardinality"}),
)


@dataclass(frozen=True, slots=True)
class Sample:
    seconds: float
    jvm: int
    python: int
    arena: int
    checkpoint: int

    @property
    def memory(self) -> int:
        return self.jvm + self.python

    def __str__(self) -> str:
        return (
            f"JVM {self.jvm / 1e6:.0f} MB, Python {self.python / 1e6:.0f} MB, "
            f"arena {self.arena / 1e6:.0f} MB, checkpoint {self.checkpoint / 1e6:.0f} MB"
        )


@dataclass
class Turns:
    """What was done so far."""

    creates: int = 0
    deletes: int = 0
    answers: int = 0
    tuples: int = 0
    refused: int = 0


class Soak:
    """Does everything at once, turn by turn."""

    def __init__(self, sde: Client, seed: int) -> None:
        self._sde, self._rng = sde, np.random.default_rng(seed)
        self._alive: list[tuple[dict[str, Any], dict[str, Any]]] = []  # creates and questions
        self.done = Turns()

    def turn(self) -> None:
        """Send tuples, create some synopses, ask some, delete the oldest."""
        creates = [self._draw() for _ in range(_CHANGED)]
        self._alive += creates
        surplus = max(0, len(self._alive) - _ALIVE)
        deletes, self._alive = self._alive[:surplus], self._alive[surplus:]
        asked = self._rng.choice(len(self._alive), min(_CHANGED, len(self._alive)), replace=False)
        pending = [self._sde.submit("create", **create) for create, _ in creates]
        self._send()
        pending += [self._ask(*self._alive[i]) for i in asked.tolist()]
        pending += [self._sde.submit("delete", uid=create["uid"]) for create, _ in deletes]
        for one in pending:
            try:
                one.result()
            except UnknownStream:
                continue  # none of its tuples has come yet
            except Refused as error:
                print(f"refused: {one.request}: {error}", flush=True)
                self.done.refused += 1
        self.done.creates += len(creates)
        self.done.deletes += len(deletes)
        self.done.answers += len(asked)

    def _draw(self) -> tuple[dict[str, Any], dict[str, Any]]:
        definition, question = _KINDS[self._rng.integers(len(_KINDS))]
        stream = f"s{self._rng.integers(_STREAMS)}"
        scope = ("dataset", "stream", {"stream": stream})[self._rng.integers(3)]
        named = {
            "uid": f"u{self.done.creates} {self._rng.integers(1 << 30)}",
            "dataset": f"soak-{self._rng.integers(_DATASETS)}",
            "scope": scope,
        }
        return {**definition, **named}, question

    def _ask(self, create: dict[str, Any], question: dict[str, Any]) -> Any:
        stream = f"s{self._rng.integers(_STREAMS)}" if create["scope"] == "stream" else None
        return self._sde.submit("estimate", uid=create["uid"], query=question, stream=stream)

    def _send(self) -> None:
        streams = self._rng.integers(0, _STREAMS, _TUPLES).tolist()
        keys = (self._rng.zipf(1.3, _TUPLES) % _KEYS).tolist()
        rows = [(f"s{s}", {"k": k, "v": k / 8}) for s, k in zip(streams, keys, strict=True)]
        dataset = f"soak-{self._rng.integers(_DATASETS)}"
        self.done.tuples += self._sde.send_many(dataset, rows)


class Sampler:
    """Notes what the engine takes, from enter to exit."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.samples: list[Sample] = []
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> list[Sample]:
        self._thread.start()
        return self.samples

    def __exit__(self, *exception: object) -> None:
        self._enough.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        while not self._enough.wait(_SAMPLE_SECONDS):
            held = memory(self._site.engine.pid)
            arena, checkpoint = map(folder_bytes, (self._site.arena, self._site.checkpoint))
            now = time.monotonic() - began
            self.samples.append(Sample(now, held["jvm"], held["python"], arena, checkpoint))
            if len(self.samples) % _SAMPLES_A_LINE == 0:
                print(f"after {now / 60:.0f} min: {self.samples[-1]}", flush=True)


def growth(samples: list[Sample], name: str) -> float | None:
    """The median of the last quarter, as a multiple of that of the quarter before."""
    quarter = len(samples) // 4
    if not quarter:
        return None
    before, last = (
        median(getattr(sample, name) for sample in some)
        for some in (samples[-2 * quarter : -quarter], samples[-quarter:])
    )
    return last / before if before else None


def goals(samples: list[Sample], done: Turns) -> list[Goal]:
    flat = [
        Goal(f"growth of the {name}", growth(samples, name), _GROWTH, " times", at_most=True)
        for name in ("memory", "arena", "checkpoint")
    ]
    return [*flat, Goal("requests refused", float(done.refused), 0, at_most=True)]


def write(samples: list[Sample], done: Turns, folder: Path) -> None:
    """soak.json and soak.png."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "on": measured_on(),
        "goals": [goal.plain() for goal in goals(samples, done)],
        "done": asdict(done),
        "samples": [asdict(sample) for sample in samples],
    }
    (folder / "soak.json").write_text(json.dumps(found, indent=1) + "\n")
    import matplotlib  # only here: it takes a second to import

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, grid = pyplot.subplots(2, 2, figsize=(12, 7), sharex=True)
    for axes, name in zip(grid.flat, ("jvm", "python", "arena", "checkpoint"), strict=True):
        minutes = [sample.seconds / 60 for sample in samples]
        axes.plot(minutes, [getattr(sample, name) / 1e6 for sample in samples])
        axes.set_title(f"{name}, MB", fontsize=10)
        axes.set_ylim(bottom=0)
        axes.grid(color="0.92")
    for axes in grid[1]:
        axes.set_xlabel("minutes")
    figure.tight_layout()
    figure.savefig(folder / "soak.png", dpi=110)
    pyplot.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    with new_site() as site, site.engine, site.client(_SECONDS_FOR_REQUESTS) as sde:
        soak, ends = Soak(sde, options.seed), time.monotonic() + 60 * options.minutes
        with Sampler(site) as samples:
            while time.monotonic() < ends:
                soak.turn()
    done = soak.done
    print(
        f"{done.creates:,} creates, {done.deletes:,} deletes, {done.answers:,} questions, "
        f"{done.tuples:,} tuples in {options.minutes:g} minutes"
    )
    if samples:
        print(f"at the end: {samples[-1]}")
    write(samples, done, options.results)
    return verdict(goals(samples, done))


if __name__ == "__main__":
    sys.exit(main())
