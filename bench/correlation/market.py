"""Prices of stocks that move in groups, and their exact correlations.

A price wanders around its mean as its group does, and by itself; how much of each differs from
group to group, so that the correlations within groups lie on both sides of the threshold. Two
stocks of different groups have nothing to do with each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clients.lanes import Parcel
from clients.tables import encode_frames

INTERVAL, WINDOW, BASIC_WINDOW = 0.1, 300, 30  # seconds
TICKS_A_WINDOW = round(WINDOW / INTERVAL)
# A basic window is over when the tick behind it has come.
TICKS = TICKS_A_WINDOW + round(BASIC_WINDOW / INTERVAL) + 1
_GROUP = 4
_MEMORY = 20.0  # seconds after which a price has forgotten a third of where it was
_FIRST_MS = 1_700_000_100_000  # a multiple of the window
_TICKS_A_TABLE = 50
_BLOCK = 1000  # stocks at once, where all are compared


class Market:
    def __init__(self, stocks: int, seed: int = 11) -> None:
        self.dataset = f"market-{stocks}"
        self.names = [f"S{i:05}" for i in range(stocks)]
        self.prices = _wander(stocks, np.random.default_rng(seed))
        self.times = _FIRST_MS + round(1000 * INTERVAL) * np.arange(TICKS)

    @property
    def tuples(self) -> int:
        return self.prices.size

    def parcels(self, lanes: int) -> Iterator[Parcel]:
        """All ticks in the order of time, as the SDK sends tables."""
        names = pa.array(self.names)
        for start in range(0, TICKS, _TICKS_A_TABLE):
            prices = self.prices[start : start + _TICKS_A_TABLE]
            times = self.times[start : start + _TICKS_A_TABLE]
            table = pa.table(
                {
                    "stream": pa.chunked_array([names] * len(prices)),
                    "time": np.repeat(times, len(names)),
                    "price": prices.ravel(),
                }
            )
            yield from encode_frames(
                table, dataset=self.dataset, stream="stream", time="time", lanes=lanes
            )

    @property
    def window(self) -> NDArray[np.float64]:
        """The latest whole window: rows are stocks."""
        return np.ascontiguousarray(self.prices[TICKS - 1 - TICKS_A_WINDOW : TICKS - 1].T)

    def pairs(self, threshold: float) -> set[tuple[str, str]]:
        return exact_pairs(self.window, self.names, threshold)

    def correlations(self, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], float]:
        """Of some pairs, exactly."""
        place = {name: number for number, name in enumerate(self.names)}
        unit = _unit(self.window)
        return {(a, b): float(unit[place[a]] @ unit[place[b]]) for a, b in pairs}


def exact_pairs(
    window: NDArray[np.float64], names: list[str], threshold: float
) -> set[tuple[str, str]]:
    """Everybody against everybody, with numpy.

    In blocks, each against itself and those behind it: half the work of `numpy.corrcoef`, and it
    needs no matrix of everybody by everybody, which for 20,000 stocks takes gigabytes (numpy's
    OpenBLAS crashed on it).
    """
    unit = _unit(window)
    pairs: set[tuple[str, str]] = set()
    for start in range(0, len(unit), _BLOCK):
        correlations = unit[start : start + _BLOCK] @ unit[start:].T
        first, second = np.nonzero(np.abs(correlations) >= threshold)
        above = first < second
        places = zip(first[above].tolist(), second[above].tolist(), strict=True)
        pairs |= {(names[start + a], names[start + b]) for a, b in places}
    return pairs


def _unit(window: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows normalised so that their inner products are their correlations."""
    centred = window - window.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.linalg.norm(centred, axis=1, keepdims=True))


def _wander(stocks: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Mean-reverting walks in cents: ticks by stocks."""
    groups = -(-stocks // _GROUP)
    group_of = np.arange(stocks) // _GROUP
    shared = rng.uniform(0.88, 1.0, groups)[group_of]
    alone = np.sqrt(1 - shared**2)
    keep = np.exp(-INTERVAL / _MEMORY)
    push = np.sqrt(1 - keep**2)
    together, apart = rng.standard_normal(groups), rng.standard_normal(stocks)
    prices = np.empty((TICKS, stocks))
    for tick in range(TICKS):
        together = keep * together + push * rng.standard_normal(groups)
        apart = keep * apart + push * rng.standard_normal(stocks)
        prices[tick] = 100 + 5 * (shared * together[group_of] + alone * apart)
    return np.round(prices, 2, out=prices)
