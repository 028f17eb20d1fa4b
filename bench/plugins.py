"""`python -m bench.plugins`: what it costs that plug-ins run in a process of their own.

The same classes twice: built in, and plugged in as source text. The maintain stage as a worker
runs it (arena in files, blocks in, log entries out) adds the same blocks to both in turn, several
rounds interleaved; the figure is seconds of wall time per million tuples, because the work of a
plug-in happens in another process. Two forms: a Count-Min (a bank of arrays) and the geofence of
the examples (an object that turns itself into bytes), each for a whole data set and for each of
500 streams.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import logging
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.machine import RESULTS, in_one_line, measured_on
from bench.one_shard import LIMITS, TRUST, OneShard
from bench.tables import markdown_table
from bench.windows import batch_of
from sde.records.loop import Admit
from sde.requests.examining import admit, log
from sde.tuples.block import Block
from sde.wire import Plugin, message_of
from synopses import KINDS
from synopses.examples import geofence
from synopses.kinds.count_min import CountMin

_STREAMS = 500
_SKETCH = '''
from synopses import CountMin


class Sketch(CountMin):
    """A Count-Min that does not know it is one of the library."""

    kind = "sketch"
'''


class _Sketch(CountMin):
    kind = "built_in_sketch"


class _Geofence(geofence.Geofence):
    kind = "built_in_geofence"


@dataclass(frozen=True)
class Case:
    name: str
    source: str
    built_in: str
    fields: dict[str, Any]
    scope: str


CASES = [
    Case(name, source, built_in, fields, scope)
    for name, source, built_in, fields in (
        ("sketch", _SKETCH, _Sketch.kind, {"key": "k"}),
        (
            "geofence",
            inspect.getsource(geofence),
            _Geofence.kind,
            {"key": "k", "value": ["v", "v"]},
        ),
    )
    for scope in ("dataset", "stream")
]


class Stage:
    """One shard with one synopsis, batch after batch."""

    def __init__(self, folder: Path, case: Case, plugged_in: bool) -> None:
        self._stage = OneShard(folder)
        kind = case.built_in
        if plugged_in:
            kind = case.name
            self._plug_in(case)
        request = {"op": "create", "uid": "u", "dataset": "d", "kind": kind, "scope": case.scope}
        self._stage.ask({**request, **case.fields})

    def _plug_in(self, case: Case) -> None:
        sha256 = hashlib.sha256(case.source.encode()).hexdigest()
        request = Plugin(id="p", name=case.name, source=case.source, sha256=sha256)
        self._stage.ask(message_of(request))
        self._stage.tell([admit(Admit(request=request), TRUST, LIMITS)])

    def add(self, blocks: list[Block]) -> float:
        before = time.perf_counter()
        self._stage.run([], blocks)
        return time.perf_counter() - before


@dataclass(frozen=True)
class Found:
    """Seconds per million tuples, by round."""

    built_in: list[float]
    plugged_in: list[float]

    @property
    def extra(self) -> float:
        return median(p - b for p, b in zip(self.plugged_in, self.built_in, strict=True))


def measure(case: Case, data: list[list[Block]], tuples: int, rounds: int) -> Found:
    found = Found([], [])
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            built_in = Stage(Path(folder) / "built-in", case, plugged_in=False)
            plugged_in = Stage(Path(folder) / "plugged-in", case, plugged_in=True)
            for stage in (built_in, plugged_in):
                stage.add(data[0])  # starts the process, makes the slots
            costs = [(built_in.add(blocks), plugged_in.add(blocks)) for blocks in data[1:]]
        scale = 1e6 / (tuples * len(costs))
        found.built_in.append(scale * sum(b for b, _ in costs))
        found.plugged_in.append(scale * sum(p for _, p in costs))
    return found


def main() -> int:
    parser = argparse.ArgumentParser("bench.plugins", description=__doc__)
    parser.add_argument("--tuples", type=int, default=250_000, help="of a batch")
    parser.add_argument("--batches", type=int, default=5, help="the first is not measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    log.setLevel(logging.ERROR)  # that they were admitted is no news here
    KINDS.update({cls.kind: cls for cls in (_Sketch, _Geofence)})
    data = [batch_of(given.tuples, _STREAMS, n) for n in range(given.batches)]
    found = {}
    for case in CASES:
        name = f"{case.name} {case.scope}"
        found[name] = measure(case, data, given.tuples, given.rounds)
        print(f"{name}: {_line(found[name])}", flush=True)
    _write(found, given.results)
    worst = max(found, key=lambda name: found[name].extra)
    print(
        f"isolation costs at most {found[worst].extra:.2f} s per million tuples ({worst}), "
        f"{max(f.extra for n, f in found.items() if 'sketch' in n):.2f} s in the bank form"
    )
    return 0


def _line(found: Found) -> str:
    return (
        f"{median(found.built_in):.2f} s per million tuples built in, "
        f"{median(found.plugged_in):.2f} s plugged in, {found.extra:.2f} s for the isolation"
    )


def _write(found: dict[str, Found], folder: Path) -> None:
    machine = measured_on()
    told = {"measured_on": machine, "cases": {name: asdict(f) for name, f in found.items()}}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plugins.json").write_text(json.dumps(told, indent=2) + "\n")
    rows = [
        [name, *(f"{v:.2f}" for v in (median(f.built_in), median(f.plugged_in), f.extra))]
        for name, f in found.items()
    ]
    header = ["case", "built in", "plugged in", "for the isolation"]
    text = ["# Seconds per million tuples", "", *markdown_table(header, rows), ""]
    (folder / "plugins.md").write_text("\n".join([*text, in_one_line(machine), ""]))


if __name__ == "__main__":
    sys.exit(main())
