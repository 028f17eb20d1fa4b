"""`python -m bench.one_field`: what many synopses that read one field cost, beside one of them.

The maintain stage of one shard as a worker runs it (arena in files, decoded blocks in), in this
process and without Spark. All contenders get the same blocks in turn; CPU seconds, so that other
work on the machine does not count. The first round only warms up.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.decode import messages
from bench.one_shard import OneShard
from bench.throughput.cases import HUNDRED, ONE, PER_STREAM, Definition, definitions
from bench.throughput.forms import in_lines
from bench.throughput.tuples import DATASET, make_tuples
from sde.decoding import Limits, decode_tuples
from sde.tuples.block import Block

_WINDOW = {"size": "1m", "lateness": "1h"}


def contenders() -> dict[str, list[Definition]]:
    """The first is what the others are compared with."""
    hundred = definitions(HUNDRED)
    return {
        "one Count-Min": definitions(ONE),
        "100 Count-Mins": hundred,
        "100 Count-Mins of weights": [(k, {**f, "value": "volume"}) for k, f in hundred],
        "100 Count-Mins, windowed": [(k, {**f, "window": _WINDOW}) for k, f in hundred],
        "one Count-Min a stream": definitions(PER_STREAM),
        "3 Count-Mins a stream": [
            (kind, {**fields, "scope": "stream", "epsilon": 0.01 + number / 1000})
            for kind, fields in definitions(ONE)
            for number in range(3)
        ],
    }


def create(stage: OneShard, wanted: list[Definition]) -> None:
    for number, (kind, fields) in enumerate(wanted):
        params = {name: fields[name] for name in fields.keys() & {"epsilon"}}
        named: dict[str, Any] = {n: value for n, value in fields.items() if n not in params}
        request = {"op": "create", "uid": f"u{number}", "dataset": DATASET, "kind": kind}
        stage.ask({**request, "scope": "dataset", **named, "params": params})


def batches(tuples: int, count: int) -> Iterator[list[Block]]:
    """Tuples as JSON lines, decoded: what the exchange hands to maintain, in blocks of a shard."""
    whole = make_tuples(3 * tuples * count)[0]  # about half of them
    for number in range(count):
        part = whole.take(np.arange(number * tuples, (number + 1) * tuples))
        parcels = in_lines(part, 0, 0)
        arrived = messages([parcel.payload for parcel in parcels])
        yield decode_tuples(arrived, 1, Limits()).blocks


def main() -> None:
    parser = argparse.ArgumentParser("bench.one_field", description=__doc__)
    parser.add_argument("--tuples", type=int, default=100_000, help="of a block")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="names of contenders beside the first")
    given = parser.parse_args()
    wanted = contenders()
    names = [n for n in wanted if given.only is None or n in (next(iter(wanted)), *given.only)]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        stages = {name: OneShard(Path(folder) / str(n)) for n, name in enumerate(names)}
        for name, stage in stages.items():
            create(stage, wanted[name])
        for number, blocks in enumerate(batches(given.tuples, given.rounds + 1)):
            for name, stage in stages.items():
                fresh = [Block.from_bytes(bytearray(block.to_bytes())) for block in blocks]
                began = time.process_time()
                stage.run([], fresh)
                if number:
                    seconds[name].append(time.process_time() - began)
    _print(seconds, given.tuples)


def _print(seconds: dict[str, list[float]], tuples: int) -> None:
    base = np.array(next(iter(seconds.values())))
    for name, taken in seconds.items():
        times = np.array(taken) / base
        print(
            f"{name:26} {tuples / median(taken):12,.0f} tuples/s, "
            f"{median(times.tolist()):6.2f} times the work of the first "
            f"({times.min():.2f}-{times.max():.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
