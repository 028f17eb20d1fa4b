"""y = P x over a sliding window of ticks: what the kinds about windows of streams share.

Time is cut into ticks of `interval` and panes of `basic_window`; a window is the latest panes
that are over, `window` long. Since y is linear in x, the y of a window is the sum of the y of its
panes: a window slides by adding a pane and dropping one. Row t of P belongs to the absolute
tick t modulo the window, so every stream meets the same rows at the same time.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.errors import ParameterError, StateError
from synopses.items import Items
from synopses.kernels import window_transform as kernel
from synopses.parameters import parameter

Floats = NDArray[np.float64]

SPARE_PANES = 2  # the pane in progress, and one for streams that are ahead of the others
LARGEST_VALUE = 1e100  # so that no square overflows; values beyond are cut to this
LARGEST_STATE = 2**28
LARGEST_PANE = 100_000  # ticks: sums of products of bytes stay below 2^31


@dataclass(frozen=True, slots=True)
class Transform:
    """P, transposed, and the sums of its columns over each pane of a window."""

    table: Floats  # (window_ticks, rows)
    shares: Floats  # (panes, rows)

    @classmethod
    def of(cls, table: Floats, panes: int) -> Transform:
        """Rounded to 2^-40: sines and logarithms differ in their last bit between machines."""
        table = np.ascontiguousarray(np.rint(table * 2.0**40) / 2.0**40)
        return cls(table, table.reshape(panes, -1, table.shape[1]).sum(axis=1))


@dataclass(frozen=True, slots=True)
class WindowSums:
    """What a window of each of n streams adds up to; means and energies pane by pane."""

    mean: Floats  # (n, panes)
    energy: Floats  # (n, panes): of the deviations from the pane's mean
    centre: Floats  # (n,): mean of the window
    spread: Floats  # (n,): energy of the window's deviations from `centre`
    held: NDArray[np.bool_]  # (n, panes): the ring has this pane; else it repeats the last value


class WindowTransform(BankedSynopsis):
    """Base of kinds that keep P x of a sliding window."""

    mergeable = False
    reads = frozenset({"values", "times"})

    interval: float = parameter(
        1.0,
        least=0.001,
        most=86_400,
        unit="s",
        doc="time between two ticks, in whole ms; the value of a tick is the latest that came",
    )
    window: float = parameter(300.0, above=0, unit="s", doc="length of the sliding window")
    basic_window: float = parameter(
        30.0, above=0, unit="s", doc="the window slides by this much; divides it"
    )

    def _prepare(self) -> None:
        super()._prepare()
        self.interval_ms = _whole("interval", self.interval, 0.001, "a number of whole ms")
        unit = "a multiple of interval"
        self.pane_ticks = _whole("basic_window", self.basic_window, self.interval, unit)
        self.panes = _whole("window", self.window, self.basic_window, "a multiple of basic_window")
        if self.pane_ticks > LARGEST_PANE:
            limit = f"at most {LARGEST_PANE} intervals"
            raise ParameterError("basic_window", self.basic_window, limit)
        self.window_ticks = self.panes * self.pane_ticks
        largest = max(self.memory, 8 * self.window_ticks * self.rows)
        if self.window_ticks < 4 or largest > LARGEST_STATE:
            limit = f"a window of at least 4 ticks that takes at most {LARGEST_STATE} bytes"
            raise ParameterError("window", self.window, limit)

    @property
    @abc.abstractmethod
    def rows(self) -> int:
        """Number of rows of P."""

    @property
    @abc.abstractmethod
    def transform(self) -> Transform:
        """P for a window of `window_ticks`, cached by its maker."""

    @property
    def ring(self) -> int:
        """Number of panes kept."""
        return self.panes + SPARE_PANES

    def layout(self) -> Layout:
        return {
            "pane": (np.int64, ()),
            "start": (np.int64, ()),
            "counts": (np.int64, (2,)),
            "carry": (np.float64, ()),
            "last": (np.float64, ()),
            "raw": (np.float64, (2, self.pane_ticks)),
            "stamp": (np.uint32, (2, self.pane_ticks)),
            "mean": (np.float64, (self.ring,)),
            "energy": (np.float64, (self.ring,)),
            "product": (np.float64, (self.ring, self.rows)),
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        self._fold_in(arrays, slots, items)

    def _fold_in(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> NDArray[np.bool_]:
        """Add the items; True for the slots whose window has changed."""
        absent: Arrays = {
            "scale": np.empty((1, 0)),
            "lost": np.empty((1, 0)),
            "ticks": np.empty((1, 0, 0), np.int8),
        }
        bank = kernel.Bank(*({**absent, **arrays}[name] for name in kernel.Bank._fields))
        values = np.clip(items.values, -LARGEST_VALUE, LARGEST_VALUE)
        touched: NDArray[np.bool_] = kernel.add(
            bank, self.transform.table, self.interval_ms, slots, items.times, values
        )
        return touched

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        furthest = int(kernel.NO_TIME) // (self.interval_ms * self.pane_ticks) + 1
        arrays = self.arrays
        for name in ("pane", "start"):
            if not -furthest <= int(arrays[name][0]) <= furthest:
                raise StateError(f"{self.kind}: {name} is {arrays[name][0]}, beyond all times")
        if (arrays["counts"] < 0).any() or (arrays["stamp"] > self.interval_ms).any():
            raise StateError(f"{self.kind}: counts or stamps are out of range")
        limits = {"energy": (0.0, 1e210), "scale": (0.0, 1e105), "lost": (0.0, 1e210)}
        for name, array in arrays.items():
            if array.dtype == np.float64:
                low, high = limits.get(name, (-1e210, 1e210))
                if name in ("mean", "raw", "carry", "last"):
                    low, high = -2 * LARGEST_VALUE, 2 * LARGEST_VALUE
                if name == "product":
                    # No row of P is longer than 9 times the square root of its ticks.
                    high = 9.1 * np.sqrt(arrays["energy"] * self.pane_ticks)[:, :, None]
                    low = -high
                if not ((array >= low) & (array <= high)).all():
                    raise StateError(f"{self.kind}: {name} is not between {low} and {high}")

    # -- windows ------------------------------------------------------------------------------

    def window_sums(self, arrays: Arrays, end: int) -> WindowSums:
        """Means and energies of the window that ends with pane `end`, of every stream."""
        numbers, places = self.places(end)
        held = numbers <= arrays["pane"][:, None]
        mean = np.where(held, arrays["mean"][:, places], arrays["last"][:, None])
        energy = np.where(held, arrays["energy"][:, places], 0.0)
        # Differences to one of the means first: a constant stream has a spread of exactly 0.
        centre = mean[:, 0] + (mean - mean[:, :1]).mean(axis=1)
        between = ((mean - centre[:, None]) ** 2).sum(axis=1) * self.pane_ticks
        spread = energy.sum(axis=1) + between
        noise = self.window_ticks * (1e-13 * np.abs(centre)) ** 2
        return WindowSums(mean, energy, centre, np.where(spread > noise, spread, 0.0), held)

    def window_product(self, arrays: Arrays, end: int, sums: WindowSums) -> Floats:
        """P (x - centre) of the window that ends with pane `end`: (n, rows)."""
        numbers, places = self.places(end)
        total = np.zeros((len(arrays["pane"]), self.rows))
        for at, (number, place) in enumerate(zip(numbers, places, strict=True)):
            held = sums.held[:, at]
            product = arrays["product"][:, place]
            total += product if held.all() else np.where(held[:, None], product, 0.0)
            shift = sums.mean[:, at] - sums.centre
            total += shift[:, None] * self.transform.shares[number % self.panes]
        return total

    def places(self, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of a window's panes, and their places in the ring."""
        numbers = np.arange(end - self.panes + 1, end + 1)
        return numbers, numbers % self.ring

    @classmethod
    def example_items(cls, rng: np.random.Generator, n: int) -> Items:
        """A random walk whose ticks come a little out of order, some not, some twice."""
        times = 1_700_000_000_000 + np.arange(n) * 700 + rng.integers(0, 3_000, n)
        return Items.of(values=100 + rng.normal(size=n).cumsum(), times=times)


def _whole(name: str, value: float, unit: float, expected: str) -> int:
    """How many units a value is, if that is a whole number."""
    count = round(value / unit)
    if count < 1 or abs(count * unit - value) > 1e-9 * value:
        raise ParameterError(name, value, expected)
    return count
