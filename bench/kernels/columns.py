"""The columns every contender gets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synopses import Items, Synopsis, Texts
from synopses.hashing import hash_texts, number_texts

NO_TEXTS = Texts(np.empty(0, np.uint8), np.zeros(1, np.int64))
NO_KEYS = np.empty((0, 2), np.uint64)


@dataclass(frozen=True)
class Columns:
    """Raw columns of n items; `slots` spreads them over a bank, in turn."""

    keys: Texts
    values: NDArray[np.float64]
    times: NDArray[np.int64]  # of a bank: ten items a second and slot
    times_of_one: NDArray[np.int64]  # ten items a second
    ids: NDArray[np.uint64]
    points: NDArray[np.float64]
    positions: NDArray[np.float64]
    slots: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def objects(self) -> dict[str, list[Any]]:
        """Columns as Python objects, as they would come out of messages."""
        numbers = {"values": self.values.tolist(), "slots": self.slots.tolist()}
        return {"keys": list(self.keys), **numbers}

    def items(self, kind: type[Synopsis], one: bool) -> Items:
        """What the kind reads, keys hashed: the way from a batch of records to a synopsis."""
        reads, times = kind.reads, self.times_of_one if one else self.times
        values = {"coreset": self.points, "trajectory": self.positions}.get(kind.kind, self.values)
        return Items(
            keys=hash_texts(self.keys) if "keys" in reads else NO_KEYS,
            texts=self.keys if "texts" in reads else NO_TEXTS,
            values=values if "values" in reads else values[:0],
            times=times if "times" in reads else times[:0],
            ids=self.ids if "ids" in reads else self.ids[:0],
            size=len(self),
        )


def columns(n: int, slots: int) -> Columns:
    """Zipf keys, prices from 0.01 to 1000; seeded."""
    rng = np.random.default_rng(9001)
    track = np.array([37.9, 23.6]) + rng.normal(0, 0.001, (n, 2))
    return Columns(
        keys=number_texts(rng.zipf(1.2, n) % 100_000),
        values=rng.integers(1, 100_000, n) / 100.0,
        times=np.arange(n) // slots * 100,
        times_of_one=np.arange(n) * 100,
        ids=rng.integers(0, 2**63, n).astype(np.uint64),
        points=rng.normal(size=(n, 2)),
        positions=np.column_stack([track, rng.uniform(0, 360, n), rng.uniform(0, 20, n)]),
        slots=(np.arange(n) % slots).astype(np.int32),
    )
