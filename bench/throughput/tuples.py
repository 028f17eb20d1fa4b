"""The tuples everybody gets: 5000 streams, keys by Zipf's law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clients.lanes import lane_of

DATASET, STREAMS, TRADERS = "Forex", 5_000, 20_000
PARTITIONS = 2  # one for each core
FIRST_MS, _TUPLES_A_MS = 1_700_000_000_000, 50  # ten ticks a second of each stream


@dataclass(frozen=True)
class Tuples:
    """Columns of one partition's tuples, in their order."""

    streams: NDArray[np.int64]
    traders: NDArray[np.int64]
    prices: NDArray[np.int64]  # thousandths
    volumes: NDArray[np.int64]
    times: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.streams)

    def take(self, rows: NDArray[np.int64]) -> Tuples:
        columns = (self.streams, self.traders, self.prices, self.volumes, self.times)
        return Tuples(*(column[rows] for column in columns))


def make_tuples(count: int) -> list[Tuples]:
    """By partition; a stream stays in its own, as the SDK has it."""
    rng = np.random.default_rng(20)
    streams = rng.integers(0, STREAMS, count)
    traders = rng.zipf(1.2, count) % TRADERS
    prices = rng.integers(10_000, 90_000, count)
    volumes = rng.integers(100, 1000, count)
    times = FIRST_MS + np.arange(count) // _TUPLES_A_MS
    lanes = np.array([lane_of(DATASET, f"S{i:04}", PARTITIONS) for i in range(STREAMS)])
    lane = lanes[streams]
    columns = (streams, traders, prices, volumes, times)
    return [Tuples(*(column[lane == p] for column in columns)) for p in range(PARTITIONS)]
