"""A market whose frequencies and correlations are known: the demo's tuples and exact answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

WINDOW_SECONDS = 128
_GROUP = 4  # stocks that move together
_TRADERS = 20_000
_FIRST_TICK = 1_700_000_000 // WINDOW_SECONDS * WINDOW_SECONDS  # seconds since the epoch


class Market:
    """`stocks` streams with a trade every second: who traded, how much, at which price."""

    def __init__(self, stocks: int, ticks: int, seed: int = 7) -> None:
        self.stocks, self.ticks = stocks, ticks
        rng = np.random.default_rng(seed)
        self.names = [f"S{i:04}" for i in range(stocks)]
        self._traders = rng.zipf(1.2, (ticks, stocks)) % _TRADERS
        self._volumes = rng.integers(1, 500, (ticks, stocks))
        self._prices = self._moves(rng)

    def _moves(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Slow waves with some noise; the stocks of a group share their waves."""
        groups = (self.stocks + _GROUP - 1) // _GROUP
        waves = np.arange(1, 9)
        phases = rng.uniform(0, 2 * np.pi, (groups, len(waves)))
        sizes = rng.uniform(0.5, 1.5, (groups, len(waves))) / np.sqrt(waves)
        seconds = np.arange(self.ticks)[:, None, None]
        angles = 2 * np.pi * waves * seconds / WINDOW_SECONDS + phases
        moves = (sizes * np.cos(angles)).sum(axis=2).repeat(_GROUP, axis=1)[:, : self.stocks]
        noise = rng.normal(0, 0.1, moves.shape)
        prices: NDArray[np.float64] = np.round(100 + 5 * (moves + noise), 2)
        return prices

    @property
    def tuples(self) -> int:
        return self.stocks * self.ticks

    def tables(self, ticks_each: int = 8) -> Iterator[Any]:
        """The tuples in order of time, as Arrow tables."""
        import pyarrow as pa

        for start in range(0, self.ticks, ticks_each):
            span = slice(start, start + ticks_each)
            count = len(self._prices[span])
            seconds = _FIRST_TICK + np.arange(start, start + count)
            yield pa.table(
                {
                    "stream": pa.array(self.names * count),
                    "time": pa.array(np.repeat(1000 * seconds, self.stocks)),
                    "trader": pa.array([f"T{t}" for t in self._traders[span].ravel().tolist()]),
                    "volume": pa.array(self._volumes[span].ravel()),
                    "price": pa.array(self._prices[span].ravel()),
                }
            )

    # -- exact answers ------------------------------------------------------------------------

    @cached_property
    def _volume_of(self) -> NDArray[np.float64]:
        volumes = self._volumes.ravel().astype(np.float64)
        return np.bincount(self._traders.ravel(), volumes, _TRADERS).astype(np.float64)

    def busiest_trader(self, stock: str) -> tuple[str, int]:
        counts = np.bincount(self._traders[:, self.names.index(stock)])
        return f"T{counts.argmax()}", int(counts.max())

    def largest_trader(self) -> tuple[str, float]:
        return f"T{self._volume_of.argmax()}", float(self._volume_of.max())

    def distinct_traders(self) -> int:
        return len(np.unique(self._traders))

    def f2(self) -> float:
        """Sum over all traders of the square of their number of trades."""
        counts = np.bincount(self._traders.ravel()).astype(float)
        return float((counts**2).sum())

    def correlated_pairs(self, threshold: float) -> set[tuple[str, str]]:
        """Over the latest window whose last basic window (16 s) is over."""
        end = (self.ticks - 1) // 16 * 16
        window = self._prices[max(0, end - WINDOW_SECONDS) : end]
        first, second = np.nonzero(np.triu(np.corrcoef(window.T), 1) >= threshold)
        return {(self.names[a], self.names[b]) for a, b in zip(first, second, strict=True)}
