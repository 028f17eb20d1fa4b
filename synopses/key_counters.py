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
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from synopses import fixed_point
from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.errors import QueryError, StateError
from synopses.fixed_point import LOSSES, Losses
from synopses.hashing import hash_key
from synopses.items import Items
from synopses.kernels import frequent_items as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate
from synopses.text_cells import cell_text, cells_fit_keys

_MOST_UNITS = 2**62
_ENTRY = ("keys", "upper", "error", "lengths", "texts")


class Count(NamedTuple):
    """The weight of a key lies between `lower` and `upper` (none: saturated, no upper bound)."""

    key: str
    lower: float
    upper: float | None
    counted: bool = True  # by a counter of its own

    @property
    def highest(self) -> float:
        """The upper bound, or where there is none the lower."""
        return self.lower if self.upper is None else self.upper

    def shown(self, estimate: float) -> dict[str, Any]:
        return {"key": self.key, "estimate": estimate, "lower": self.lower, "upper": self.upper}


class KeyCounters(BankedSynopsis):
    """Upper bound and error of the weight of the heaviest keys, in whole units.

    Items with a weight of 0 or less are left out. What goes beyond a total of 2^62 units (of
    10^-decimals) is left out, too, and the synopsis is saturated from then on: lower bounds hold,
    upper bounds are not known. All bounds are wider by what rounding to units lost.
    """

    reads = frozenset({"keys", "texts", "values"})
    later_arrays: ClassVar[tuple[str, ...]] = (LOSSES,)

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
            **fixed_point.LAYOUT,
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        units = fixed_point.to_units(
            items.values, self.decimals, arrays[LOSSES], slots, positive_only=True
        )
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
            units,
        )

    def _merge(self, other: Self) -> None:
        mine, theirs = self.arrays, other.arrays
        fixed_point.merge_losses(mine[LOSSES], theirs[LOSSES])
        total = int(mine["total"][0]) + int(theirs["total"][0])
        if total > _MOST_UNITS:
            self._saturate(other)
            return
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

    def _saturate(self, other: Self) -> None:
        """Leave out the lighter of two synopses that are too heavy together."""
        mine, theirs = self.arrays, other.arrays
        if mine["total"][0] < theirs["total"][0]:
            for name, array in self._first_arrays().items():
                array[...] = theirs[name]
        mine["total"][0] = _MOST_UNITS

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        fixed_point.check_losses(self.kind, self.arrays[LOSSES])
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

    def losses(self) -> Losses:
        losses = fixed_point.losses_of(self.arrays[LOSSES][0], self.decimals)
        full = bool(self.arrays["total"][0] >= _MOST_UNITS)
        return losses._replace(saturated=losses.saturated or full)

    def _total(self) -> float:
        return float(self.arrays["total"][0] / self._unit)

    @property
    def floor(self) -> float | None:
        """What a key without a counter weighs at most; none if that is not known."""
        losses = self.losses()
        if losses.saturated:
            return None
        return float(self.arrays["floor"][0] / self._unit) + losses.rounding

    def _count(self, key: Any) -> Count:
        """Bounds of the weight of one key."""
        entry = np.empty(1, np.int64)
        kernel.entries_of(self.arrays["keys"], self.arrays["index"], hash_key(key), entry)
        if entry[0] < 0:
            return Count(str(key), 0.0, self.floor, counted=False)
        return self._entry(int(entry[0]), self.losses())

    def _entry(self, entry: int, losses: Losses) -> Count:
        state = {name: self.arrays[name][0, entry] for name in _ENTRY}
        lower = float((state["upper"] - state["error"]) / self._unit) - losses.rounding
        upper = float(state["upper"] / self._unit) + losses.rounding
        text = cell_text(state["texts"], int(state["lengths"]))
        return Count(text, max(0.0, lower), None if losses.saturated else upper)

    def heaviest(self) -> list[Count]:
        """All counters, the largest upper bound first; equal ones in the order of their hashes."""
        held, losses = int(self.arrays["held"][0]), self.losses()
        keys, upper = self.arrays["keys"][0, :held], self.arrays["upper"][0, :held]
        order = np.lexsort((keys[:, 1], keys[:, 0], -upper))
        return [self._entry(int(entry), losses) for entry in order]

    def _check_share(self, name: str, share: float) -> None:
        if not self.epsilon <= share <= 1:
            raise QueryError(f"query.{name}", share, f"a number from epsilon={self.epsilon} to 1")

    def _may_have(self, share: float) -> list[Count]:
        """The counters of keys that may have this share of the total, the heaviest first.

        Bounds are at most epsilon * total apart (but for rounding), so that none of them weighs
        less than share - epsilon. A saturated synopsis shows all it has.
        """
        least = share * (self._total() - self.losses().rounding)
        return [c for c in self.heaviest() if c.upper is None or c.upper >= least]

    def _details(self) -> dict[str, Any]:
        """The total, and where weights were rounded or left out what an unnamed key may weigh."""
        losses = self.losses()
        unnamed = {"left_out": self.floor} if losses.details else {}
        return {"total": self._total(), **losses.details, **unnamed}

    def _frequent(self, support: float) -> Estimate:
        """Keys that may have the support, each with its lower bound as the estimate."""
        found = [count.shown(count.lower) for count in self._may_have(support)]
        return Estimate(found, confidence=1.0, details=self._details())

    def _total_weight(self) -> Estimate:
        total, losses = self._total(), self.losses()
        lower = max(0.0, total - losses.rounding)
        upper = None if losses.saturated else total + losses.rounding
        return Estimate(total, lower, upper, 1.0, losses.details)
