"""Trajectory: the positions of a ship that tell its course."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.errors import MergeError, ParameterError, QueryError, StateError
from synopses.items import Items
from synopses.kernels import trajectory as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate, question

_FIELDS = ("latitude", "longitude", "course", "speed")


class Trajectory(BankedSynopsis):
    """The last positions of one ship at which something changed.

    A position is kept if, since the last one kept, at least `min_period` seconds passed, the ship
    went at least `min_distance` metres (great circle), or its speed or course changed by at least
    `min_speed_change` knots or `min_course_change` degrees; so every position left out differs
    from the kept one before it by less than all four. Items have four values: latitude and
    longitude in degrees, course in degrees, speed in knots. Positions off the globe and positions
    older than the last kept one are left out. Not mergeable: what is kept depends on the position
    before, so each ship has a synopsis of its own. The rule is that of INFORE's maritime
    sampler [1]_.

    Examples
    --------
    >>> from synopses import Items, Trajectory
    >>> ship = Trajectory(min_period=60, min_distance=100)
    >>> here = [37.94, 23.64, 180.0, 10.0]
    >>> ship.add(Items.of(values=[here, here, here], times=[0, 30_000, 60_000]))
    >>> [position["time"] for position in ship.track().value]
    [0, 60000]

    References
    ----------
    .. [1] Kontaxakis, Giatrakos, Sacharidis and Deligiannakis, And synopses for all: a synopses
       data engine for extreme scale analytics-as-a-service, Information Systems 116, 2023.
    """

    kind = "trajectory"
    mergeable = False
    reads = frozenset({"values", "times"})
    value_fields: ClassVar[int | str] = len(_FIELDS)
    value_names = _FIELDS
    guarantee = "a position left out differs from the one kept before it by less than every limit"

    min_period: float = parameter(60.0, least=0, most=1e9, unit="s", doc="keep after this time")
    min_distance: float = parameter(
        100.0, least=0, most=1e8, unit="m", doc="keep after this distance"
    )
    min_speed_change: float = parameter(
        1.0, least=0, most=1e6, unit="knots", doc="keep when the speed changed by this"
    )
    min_course_change: float = parameter(
        5.0, least=0, most=360, unit="degrees", doc="keep when the course changed by this"
    )
    capacity: int = parameter(
        100, least=1, most=1_000_000, unit="positions", doc="how many of the last kept to hold"
    )

    def layout(self) -> Layout:
        return {
            "times": (np.int64, (self.capacity,)),
            "positions": (np.float64, (self.capacity, len(_FIELDS))),
            "kept": (np.int64, ()),
            "seen": (np.int64, ()),
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        shape = items.values.shape
        if len(items) and (len(shape) != 2 or shape[1] != len(_FIELDS)):
            found = shape[1] if len(shape) == 2 else 1
            raise ParameterError("value", f"{found} fields", f"4 fields: {', '.join(_FIELDS)}")
        kernel.add(
            arrays["times"],
            arrays["positions"],
            arrays["kept"],
            arrays["seen"],
            slots,
            items.times,
            items.values,
            self.min_period * 1000,
            self.min_distance,
            self.min_speed_change,
            self.min_course_change,
        )

    def _merge(self, other: Self) -> None:
        raise MergeError("trajectory is not mergeable")

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        state = {name: array[0] for name, array in self.arrays.items()}
        kept, seen = int(state["kept"]), int(state["seen"])
        if not 0 <= kept <= seen < 2**62 or (kept == 0) != (seen == 0):
            raise StateError(f"trajectory: {kept} positions kept of {seen}")
        places = self._places()
        positions, times = state["positions"], state["times"][places]
        on_globe = (np.abs(positions[:, :2]) <= (90, 180)).all()
        if not np.isfinite(positions).all() or not on_globe or (times[1:] < times[:-1]).any():
            raise StateError("trajectory: positions off the globe or out of order")
        if state["times"][len(places) :].any() or positions[len(places) :].any():
            raise StateError("trajectory: there is something behind the last position")

    @classmethod
    def example(cls) -> Self:
        return cls(capacity=50)

    @classmethod
    def example_items(cls, rng: np.random.Generator, n: int) -> Items:
        walk = np.array([37.94, 23.64]) + np.cumsum(rng.normal(0, 0.0004, (n, 2)), axis=0)
        course, speed = rng.normal(180, 3, n), rng.normal(12, 0.5, n)
        times = 1_700_000_000_000 + np.cumsum(rng.integers(1_000, 20_000, n))
        return Items.of(values=np.column_stack([walk, course, speed]), times=times)

    # -- questions ----------------------------------------------------------------------------

    def _places(self) -> NDArray[np.int64]:
        """Places in the ring of the positions held, oldest first."""
        kept = int(self.arrays["kept"][0])
        return np.arange(max(0, kept - self.capacity), kept) % self.capacity

    def _described(self, places: NDArray[np.int64]) -> list[dict[str, Any]]:
        times, positions = self.arrays["times"][0], self.arrays["positions"][0]
        return [
            {"time": int(times[at]), **dict(zip(_FIELDS, positions[at].tolist(), strict=True))}
            for at in places
        ]

    @question(most={"limit": 1_000_000})
    def track(self, limit: int = 0) -> Estimate:
        """The last positions kept, oldest first (0: all that are held)."""
        if limit < 0:
            raise QueryError("query.limit", limit, "a number at least 0")
        track = self._described(self._places()[-limit:])
        details = {"kept": int(self.arrays["kept"][0]), "seen": int(self.arrays["seen"][0])}
        return Estimate(track, details=details)

    @question
    def last(self) -> Estimate:
        """The last position kept."""
        found = self._described(self._places()[-1:])
        return Estimate(found[0] if found else None)
