"""The columns every contender gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synopses import Items, Synopsis, Texts
from synopses.hashing import hash_texts, number_texts

NO_TEXTS = Texts(np.empty(0, np.uint8), np.zeros(1, np.int64))


@dataclass(frozen=True, slots=True)
class Columns:
    """Raw columns of n items; `slots` spreads them over a bank."""

    keys: Texts
    values: NDArray[np.float64]
    times: NDArray[np.int64]
    ids: NDArray[np.uint64]
    points: NDArray[np.float64]
    positions: NDArray[np.float64]
    slots: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.values)

    def first(self, n: int) -> Columns:
        fields = {name: getattr(self, name) for name in self.__slots__}
        keys = fields.pop("keys").take(np.arange(n))
        return Columns(keys, **{name: column[:n] for name, column in fields.items()})

    def items(self, kind: type[Synopsis]) -> Items:
        """What the kind reads, keys hashed: the way from a batch of records to a synopsis."""
        reads, n = kind.reads, len(self)
        texts = self.keys if "texts" in reads else NO_TEXTS
        keys = hash_texts(self.keys) if "keys" in reads else np.empty((0, 2), np.uint64)
        values = {"coreset": self.points, "trajectory": self.positions}.get(kind.kind, self.values)
        return Items(keys, texts, values, self.times, self.ids, n)


def columns(n: int, slots: int) -> Columns:
    """Zipf keys, normal values, ten items a second and slot; seeded."""
    rng = np.random.default_rng(9001)
    track = np.array([37.9, 23.6]) + rng.normal(0, 0.001, (n, 2))
    return Columns(
        keys=number_texts(rng.zipf(1.2, n) % 100_000),
        values=rng.integers(1, 100_000, n) / 100.0,
        times=np.arange(n) // slots * 100,
        ids=rng.integers(0, 2**63, n).astype(np.uint64),
        points=rng.normal(size=(n, 2)),
        positions=np.column_stack([track, rng.uniform(0, 360, n), rng.uniform(0, 20, n)]),
        slots=(np.arange(n) % slots).astype(np.int32),
    )
