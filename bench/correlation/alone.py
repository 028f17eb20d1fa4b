"""The kind by itself, in this process: what of an answer's time is the search for pairs."""

from __future__ import annotations

import numpy as np

from bench.correlation.market import BASIC_WINDOW, INTERVAL, WINDOW, Market
from synopses import DFT, Items, Streams

COEFFICIENTS = 8
_TICKS_AT_ONCE = 100


def make_dft() -> DFT:
    return DFT(
        interval=INTERVAL, window=WINDOW, basic_window=BASIC_WINDOW, coefficients=COEFFICIENTS
    )


def filled(market: Market) -> Streams:
    """All ticks of the market in a bank."""
    dft, stocks = make_dft(), len(market.names)
    bank = {n: np.zeros((stocks, *shape), t) for n, (t, shape) in dft.layout().items()}
    for start in range(0, len(market.times), _TICKS_AT_ONCE):
        times = market.times[start : start + _TICKS_AT_ONCE]
        prices = market.prices[start : start + _TICKS_AT_ONCE]
        slots = np.tile(np.arange(stocks, dtype=np.int32), len(times))
        items = Items.of(values=prices.ravel(), times=np.repeat(times, stocks))
        dft.add_slots(bank, slots, items)
    return Streams(market.names, bank)
