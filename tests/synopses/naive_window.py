"""The obvious version of the windows of DFT and LSH: a dictionary of ticks, plain loops."""

import math

import numpy as np


class NaiveWindow:
    """All items of one stream, as the kinds about windows take them."""

    def __init__(self, synopsis):
        self.of = synopsis
        self.ticks = {}  # tick -> (moment within the tick, value)
        self.first_value = None
        self.newest = None  # pane
        self.late = 0

    def add(self, times, values):
        for time, value in zip(times.tolist(), values.tolist(), strict=True):
            tick, moment = divmod(time, self.of.interval_ms)
            pane = tick // self.of.pane_ticks
            if self.newest is not None and pane < self.newest - 1:
                self.late += 1
                continue
            self.first_value = value if self.newest is None else self.first_value
            self.newest = pane if self.newest is None else max(self.newest, pane)
            if tick not in self.ticks or moment >= self.ticks[tick][0]:
                self.ticks[tick] = (moment, value)

    @property
    def start(self):
        """The first pane with a value at every tick."""
        return math.ceil(min(self.ticks) / self.of.pane_ticks)

    def values(self, first, n):
        """The values of n ticks; one without an item repeats the one before."""
        known = [t for t in self.ticks if t < first]
        value = self.ticks[max(known)][1] if known else self.first_value
        out = []
        for tick in range(first, first + n):
            value = self.ticks.get(tick, (0, value))[1]
            out.append(value)
        return out

    def window(self, end):
        """The values of the window that ends with pane `end`."""
        first = (end - self.of.panes + 1) * self.of.pane_ticks
        return np.array(self.values(first, self.of.window_ticks))

    def fold(self, pane):
        """Mean, energy and products of a pane, each sum from left to right."""
        x = self.values(pane * self.of.pane_ticks, self.of.pane_ticks)
        total = 0.0
        for value in x:
            total += value - x[0]
        mean = x[0] + total / len(x)
        energy, products = 0.0, [0.0] * self.of.rows
        block = pane % self.of.panes * self.of.pane_ticks
        rows = self.of.transform.table[block : block + len(x)].tolist()
        for value, row in zip(x, rows, strict=True):
            energy += (value - mean) * (value - mean)
            products = [p + (value - mean) * r for p, r in zip(products, row, strict=True)]
        return mean, energy, products

    def shrunk(self, pane):
        """Scale, whole multiples of it, and the energy they leave out."""
        x = self.values(pane * self.of.pane_ticks, self.of.pane_ticks)
        mean = self.fold(pane)[0]
        scale = max(abs(value - mean) for value in x) / 127
        whole = [round((value - mean) / scale) if scale else 0 for value in x]
        lost = 0.0
        for value, number in zip(x, whole, strict=True):
            left = (value - mean) - scale * number
            lost += left * left
        return scale, whole, lost


def bitmap(synopsis, window):
    """On which side of each hyperplane a window lies; rows of P as the window meets them."""
    deviations = window - window.mean()
    return deviations @ synopsis.transform.table > 0
