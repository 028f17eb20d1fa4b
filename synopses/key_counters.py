"""What the kinds that count the heaviest keys share: a fixed number of counters.

The algorithm is SpaceSaving [1]_ in the form of Apache DataSketches' frequent items: instead of
replacing the lightest key each time, a full table raises its floor to the median counter and
drops what is at or below it, which is amortised constant time. Each such step of height d takes
d from at least half of the counters, so after all steps floor * counters / 2 <= total: with
2 / epsilon counters the floor stays below epsilon * total. Merging adds counters and floors and
drops again, which keeps that inequality [2]_.

.. [1] Metwally, Agrawal and El Abbadi, Efficient computation of frequent and top-k elements in
   data streams, ICDT 2005.
.. [2] Agarwal et al., Mergeable summaries, PODS 2012.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.errors import MergeError, QueryError, StateError
from synopses.fixed_point import to_units
from synopses.hashing import hash_key
from synopses.items import Items
from synopses.kernels import frequent_items as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate
from synopses.text_cells import cell_text, cells_fit_keys

_MOST_UNITS = 2**62
_ENTRY = ("keys", "upper", "error", "lengths", "texts")


class Count(NamedTuple):
    """The weight of a key lies between `lower` and `upper`."""

    key: str
    lower: float
    upper: float


class KeyCounters(BankedSynopsis):
    """Upper bound and error of the weight of the heaviest keys, in whole units.

    Items with a weight of 0 or less are left out, and so is what goes beyond a total of 2^62
    units (of 10^-decimals).
    """

    reads = frozenset({"keys", "texts", "values"})

    epsilon: float = parameter(
        0.01, least=1e-5, most=0.5, doc="error as a share of the total weight"
    )
    decimals: int = parameter(3, least=0, most=9, doc="decimals of a weight that are counted")
    max_key_bytes: int = parameter(
        48, least=1, most=1000, unit="bytes", doc="longer keys are cut when shown"
    )

    @property
    def counters(self) -> int:
        return math.ceil(2 / self.epsilon) + 1

    def layout(self) -> Layout:
        n = self.counters
        return {
            "keys": (np.uint64, (n, 2)),
            "upper": (np.int64, (n,)),
            "error": (np.int64, (n,)),
            "lengths": (np.int64, (n,)),
            "texts": (np.uint8, (n, self.max_key_bytes)),
            "index": (np.int32, (2 ** math.ceil(math.log2(2 * n)),)),
            "held": (np.int64, ()),
            "floor": (np.int64, ()),
            "total": (np.int64, ()),
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        kernel.add(
            arrays["keys"],
            arrays["upper"],
            arrays["error"],
            arrays["lengths"],
            arrays["texts"],
            arrays["index"],
            arrays["held"],
            arrays["floor"],
            arrays["total"],
            slots,
            items.keys,
            items.texts.buffer,
            items.texts.offsets,
            to_units(items.values, self.decimals),
        )

    def _merge(self, other: Self) -> None:
        mine, theirs = self.arrays, other.arrays
        total = int(mine["total"][0]) + int(theirs["total"][0])
        if total > _MOST_UNITS:
            raise MergeError(f"a total of {total} units, expected at most {_MOST_UNITS}")
        held, their_held = int(mine["held"][0]), int(theirs["held"][0])
        found = np.empty(their_held, np.int64)
        kernel.entries_of(mine["keys"], mine["index"], theirs["keys"][0, :their_held], found)
        both, new = np.flatnonzero(found >= 0), np.flatnonzero(found < 0)
        joined = {
            name: np.concatenate([mine[name][0, :held], theirs[name][0, new]]) for name in _ENTRY
        }
        # A key that one side does not hold may weigh up to that side's floor there.
        for name in ("upper", "error"):
            joined[name][:held] += theirs["floor"][0]
            joined[name][held:] += mine["floor"][0]
            joined[name][found[both]] += theirs[name][0, both] - theirs["floor"][0]
        floor = mine["floor"][0] + theirs["floor"][0]
        if joined["upper"].size > self.counters:
            floor = np.sort(joined["upper"])[-self.counters - 1]
        heaviest = np.flatnonzero(joined["upper"] > floor)
        for name in _ENTRY:
            mine[name][0, : heaviest.size] = joined[name][heaviest]
            mine[name][0, heaviest.size :] = 0
        mine["held"][0], mine["floor"][0] = heaviest.size, floor
        mine["total"][0] = total
        kernel.rebuild(mine["keys"], mine["index"], mine["held"], 0)

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        state = {name: array[0] for name, array in self.arrays.items()}
        held, floor, total = int(state["held"]), int(state["floor"]), int(state["total"])
        if not (0 <= held <= self.counters and 0 <= total <= _MOST_UNITS):
            raise StateError(f"{self.kind}: {held} counters of {total} units")
        if not 0 <= floor * self.counters <= 2 * total:
            raise StateError(f"{self.kind}: floor {floor} is impossible with a total of {total}")
        upper, error = state["upper"][:held], state["error"][:held]
        sound = (upper > floor) & (error >= 0) & (error <= floor) & (upper <= floor + total)
        if not sound.all() or any(state[name][held:].any() for name in _ENTRY):
            raise StateError(f"{self.kind}: counters outside floor {floor} and total {total}")
        index = self.arrays["index"].copy()
        kernel.rebuild(self.arrays["keys"], self.arrays["index"], self.arrays["held"], 0)
        if (
            len(np.unique(state["keys"][:held], axis=0)) < held
            or (index[0] != state["index"]).any()
        ):
            raise StateError(f"{self.kind}: the index does not fit the keys")
        if not cells_fit_keys(state["texts"][:held], state["lengths"][:held], state["keys"][:held]):
            raise StateError(f"{self.kind}: a text does not have the hash of its key")

    # -- for the questions --------------------------------------------------------------------

    @property
    def _unit(self) -> float:
        return float(10.0**self.decimals)

    def _total(self) -> float:
        return float(self.arrays["total"][0] / self._unit)

    @property
    def floor(self) -> float:
        """What a key without a counter weighs at most."""
        return float(self.arrays["floor"][0] / self._unit)

    def _count(self, key: Any) -> Count:
        """Bounds of the weight of one key."""
        entry = np.empty(1, np.int64)
        kernel.entries_of(self.arrays["keys"], self.arrays["index"], hash_key(key), entry)
        if entry[0] < 0:
            return Count(str(key), 0.0, self.floor)
        return self._entry(int(entry[0]))

    def _entry(self, entry: int) -> Count:
        state = {name: self.arrays[name][0, entry] for name in _ENTRY}
        return Count(
            cell_text(state["texts"], int(state["lengths"])),
            float((state["upper"] - state["error"]) / self._unit),
            float(state["upper"] / self._unit),
        )

    def heaviest(self) -> list[Count]:
        """All counters, the largest upper bound first; equal ones in the order of their hashes."""
        held = int(self.arrays["held"][0])
        keys, upper = self.arrays["keys"][0, :held], self.arrays["upper"][0, :held]
        order = np.lexsort((keys[:, 1], keys[:, 0], -upper))
        return [self._entry(int(entry)) for entry in order]

    def _check_share(self, name: str, share: float) -> None:
        if not self.epsilon <= share <= 1:
            raise QueryError(f"query.{name}", share, f"a number from epsilon={self.epsilon} to 1")

    def _frequent(self, support: float) -> Estimate:
        """Keys that may have the support, without those surely epsilon below it."""
        least = (support - self.epsilon) * self._total()
        found = [
            {"key": c.key, "estimate": c.lower, "lower": c.lower, "upper": c.upper}
            for c in self.heaviest()
            if c.lower >= least and c.upper >= support * self._total()
        ]
        return Estimate(found, confidence=1.0, details={"total": self._total()})
