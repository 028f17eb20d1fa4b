"""How many synopses, made in which way, over how many streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.throughput.tuples import DATASET, PARTITIONS, STREAMS, TRADERS, Tuples
from clients.lanes import lane_of

FEW, MOST = 100, 10_000  # synopses that are compared
NUMBERS = {
    "scope stream": (1, 10, 100, 1000, 5000, 10_000),
    "one create each": (1, 10, 100, 1000, 5000, 10_000),
    "definitions": (1, 10, 100),
}


@dataclass(frozen=True, slots=True)
class Case:
    """`number` Count-Min sketches with the default parameters, made in one of three ways.

    "scope stream": one create makes a sketch for each of `number` streams; 10,000 are two creates
    (two seeds) over 5000 streams. "one create each": the same sketches, each created for its
    stream by name. "definitions": as many seeds over the whole data set of 5000 streams. So
    every tuple goes into one sketch, into two with 10,000, or into one of each definition.
    """

    way: str
    number: int

    @property
    def streams(self) -> int:
        return STREAMS if self.way == "definitions" else min(self.number, STREAMS)

    @property
    def sketches_a_tuple(self) -> int:
        return self.number if self.way == "definitions" else -(-self.number // STREAMS)

    def creates(self) -> Iterator[dict[str, Any]]:
        """The requests that make them."""
        shared = {"dataset": DATASET, "kind": "count_min", "key": "trader"}
        for seed in range(self.sketches_a_tuple):
            if self.way == "one create each":
                for stream in map(stream_name, range(self.streams)):
                    yield {
                        **shared,
                        "uid": f"{stream} {seed}",
                        "scope": {"stream": stream},
                        "params": {"seed": seed},
                    }
            else:
                scope = "stream" if self.way == "scope stream" else "dataset"
                uid = f"{self.way} {seed}"
                yield {**shared, "uid": uid, "scope": scope, "params": {"seed": seed}}


def all_cases(largest: int) -> list[Case]:
    return [Case(way, n) for way, numbers in NUMBERS.items() for n in numbers if n <= largest]


def in_turn(cases: Sequence[Case], rng: np.random.Generator) -> list[Case]:
    """In a random order; few and most of a way, which are compared, come next to each other."""
    together: dict[tuple[str, int], list[Case]] = {}
    for case in cases:
        number = MOST if case.number == FEW else case.number
        together.setdefault((case.way, number), []).append(case)
    groups = list(together.values())
    return [
        groups[at][i]
        for at in rng.permutation(len(groups))
        for i in rng.permutation(len(groups[at]))
    ]


def stream_name(number: int) -> str:
    return f"S{number:04}"


def tuples_of(streams: int, count: int) -> list[Tuples]:
    """By partition. A stream stays in its own; a lone one is in all, else half would wait."""
    rng = np.random.default_rng(5)
    stream = rng.integers(0, streams, count)
    columns = (
        stream,
        rng.zipf(1.2, count) % TRADERS,
        rng.integers(10_000, 90_000, count),
        rng.integers(100, 1000, count),
        1_700_000_000_000 + np.arange(count) // 50,
    )
    lanes = np.array([lane_of(DATASET, stream_name(i), PARTITIONS) for i in range(streams)])
    lane = lanes[stream] if len(set(lanes)) == PARTITIONS else np.arange(count) % PARTITIONS
    return [Tuples(*(column[lane == p] for column in columns)) for p in range(PARTITIONS)]
