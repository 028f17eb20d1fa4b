"""Sliding windows of ticks under a linear transform, for a bank. No checks, no objects.

Time is cut into panes (basic windows) of equally many ticks. The two newest panes of a slot are
kept as values, so that items may come late or out of order. Each pane is also folded into a ring:
its mean, the energy of its deviations from the mean, and their product with the rows of `table`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

NO_TIME = np.int64(1 << 61)  # times beyond this are no times, and would overflow


class Bank(NamedTuple):
    """Arrays with the slots in front; `ticks` has no columns where windows are not kept."""

    pane: np.ndarray  # number of the newest pane
    start: np.ndarray  # number of the first pane that has a value at every tick
    counts: np.ndarray  # items taken, items that came too late
    carry: np.ndarray  # value before the older of the two panes kept as values
    last: np.ndarray  # value of the newest tick
    raw: np.ndarray  # (2, ticks): pane p is at p & 1
    stamp: np.ndarray  # (2, ticks): when in its tick the value came, in ms + 1; 0: none came
    mean: np.ndarray  # (ring,): pane p is at p % ring
    energy: np.ndarray
    product: np.ndarray  # (ring, rows)
    scale: np.ndarray
    lost: np.ndarray
    ticks: np.ndarray  # (ring, ticks): deviations from the mean, in units of the scale


@njit(cache=True, nogil=True, inline="always")
def _leaving(raw, stamp, entering):
    """The last value of a pane."""
    for t in range(stamp.size - 1, -1, -1):
        if stamp[t] > 0:
            return raw[t]
    return entering


@njit(cache=True, nogil=True, inline="always")
def _fill(raw, stamp, entering, x):
    """The value at every tick: one without an item repeats the one before. Last value, mean."""
    value = raw[0] if stamp[0] > 0 else entering
    first = value
    total = 0.0
    for t in range(x.size):
        if stamp[t] > 0:
            value = raw[t]
        x[t] = value
        total += value - first
    return value, first + total / x.size


@njit(cache=True, nogil=True, inline="always")
def _project(x, mean, table, product):
    """Deviations of x from its mean, in place; their product with the table, and their energy.

    Four ticks at a time, so that sums stay in registers that long; added up in the order of ticks.
    """
    for row in range(product.size):
        product[row] = 0.0
    energy = 0.0
    for t in range(x.size):
        x[t] -= mean
        energy += x[t] * x[t]
    fours = x.size - x.size % 4
    for t in range(0, fours, 4):
        a, b, c, d = x[t], x[t + 1], x[t + 2], x[t + 3]
        for row in range(product.size):
            total = product[row] + a * table[t, row]
            total += b * table[t + 1, row]
            total += c * table[t + 2, row]
            product[row] = total + d * table[t + 3, row]
    for t in range(fours, x.size):
        for row in range(product.size):
            product[row] += x[t] * table[t, row]
    return energy


@njit(cache=True, nogil=True, inline="always")
def _shrink(x, ticks):
    """Deviations in one byte each, as multiples of the scale; the scale and the energy lost."""
    largest = 0.0
    for t in range(x.size):
        largest = max(largest, abs(x[t]))
    scale = largest / 127.0
    lost = 0.0
    for t in range(x.size):
        ticks[t] = np.int8(np.rint(x[t] / scale)) if scale > 0.0 else 0
        left = x[t] - scale * ticks[t]
        lost += left * left
    return scale, lost


@njit(cache=True, nogil=True, inline="always")
def _fold(bank, slot, pane, entering, table, x):
    """Bring the ring's entry of a pane up to date with its values."""
    raw, stamp = bank.raw[slot, pane & 1], bank.stamp[slot, pane & 1]
    place = pane % bank.mean.shape[1]
    block = (pane % (table.shape[0] // x.size)) * x.size
    bank.last[slot], mean = _fill(raw, stamp, entering, x)
    bank.mean[slot, place] = mean
    bank.energy[slot, place] = _project(
        x, mean, table[block : block + x.size], bank.product[slot, place]
    )
    if bank.ticks.shape[2] > 0:
        bank.scale[slot, place], bank.lost[slot, place] = _shrink(x, bank.ticks[slot, place])


@njit(cache=True, nogil=True, inline="always")
def _fold_changed(bank, slot, changed, table, x):
    """Fold the two newest panes, those that have changed."""
    older = bank.pane[slot] - 1
    if changed[slot, 0]:
        _fold(bank, slot, older, bank.carry[slot], table, x)
    if changed[slot, 1]:
        entering = _leaving(
            bank.raw[slot, older & 1], bank.stamp[slot, older & 1], bank.carry[slot]
        )
        _fold(bank, slot, older + 1, entering, table, x)
    changed[slot, 0] = False
    changed[slot, 1] = False


@njit(cache=True, nogil=True, inline="always")
def _advance(bank, slot, pane):
    """Open a newer pane. Panes that were passed over hold the last value throughout."""
    older = bank.pane[slot] - 1
    if pane == bank.pane[slot] + 1:
        bank.carry[slot] = _leaving(
            bank.raw[slot, older & 1], bank.stamp[slot, older & 1], bank.carry[slot]
        )
        half = pane & 1
        for t in range(bank.stamp.shape[2]):
            bank.raw[slot, half, t] = 0.0
            bank.stamp[slot, half, t] = 0
    else:
        bank.carry[slot] = bank.last[slot]
        bank.raw[slot] = 0.0
        bank.stamp[slot] = 0
    ring = bank.mean.shape[1]
    for passed in range(max(bank.pane[slot] + 1, pane - ring + 1), pane):
        place = passed % ring
        bank.mean[slot, place] = bank.last[slot]
        bank.energy[slot, place] = 0.0
        bank.product[slot, place] = 0.0
        if bank.ticks.shape[2] > 0:
            bank.scale[slot, place] = 0.0
            bank.lost[slot, place] = 0.0
            bank.ticks[slot, place] = 0
    bank.pane[slot] = pane


@njit(cache=True, nogil=True)
def add(bank, table, interval, slots, times, values):
    """Put each item into its tick and fold the panes that changed; True for slots that did."""
    newest, start, counts, raw, stamp = bank.pane, bank.start, bank.counts, bank.raw, bank.stamp
    pane_ms = raw.shape[2] * interval
    ticks_per_ms = 1.0 / interval
    changed = np.zeros((newest.size, 2), np.bool_)  # of each slot: older pane, newest pane
    x = np.empty(raw.shape[2])
    i = 0
    while i < slots.size:
        slot, time = np.uintp(slots[i]), times[i]
        if abs(time) >= NO_TIME:
            counts[slot, 1] += 1
            i += 1
            continue
        # Divisions are slow: most items are of the pane their slot is in.
        pane = newest[slot]
        since = time - pane * pane_ms
        if since < 0 or since >= pane_ms:
            pane = time // pane_ms
            since = time - pane * pane_ms
        if counts[slot, 0] == 0:
            newest[slot] = pane
            start[slot] = pane + 1
            bank.carry[slot] = values[i]
        if pane < newest[slot] - 1:
            counts[slot, 1] += 1
            i += 1
            continue
        if pane > newest[slot]:
            _fold_changed(bank, slot, changed, table, x)
            _advance(bank, slot, pane)
        # This item, and those that follow it in slot and pane.
        half, first, taken, from_start = np.uintp(pane & 1), i, False, False
        while True:
            # In the middle of the millisecond, so that rounding does not lead to another tick.
            at = np.int64((since + 0.5) * ticks_per_ms)
            moment, place = since - at * interval + 1, np.uintp(at)
            if moment >= stamp[slot, half, place]:
                stamp[slot, half, place] = moment
                raw[slot, half, place] = values[i]
                taken = True
            from_start |= at == 0
            i += 1
            if i == slots.size or slots[i] != slots[first] or abs(times[i]) >= NO_TIME:
                break
            since = times[i] - pane * pane_ms
            if since < 0 or since >= pane_ms:
                break
        counts[slot, 0] += i - first
        if pane < start[slot]:
            start[slot] = min(start[slot], pane if from_start else pane + 1)
        changed[slot, 0] |= taken and pane < newest[slot]
        changed[slot, 1] |= taken
    touched = changed[:, 1].copy()
    for i in range(touched.size):
        if touched[i]:
            _fold_changed(bank, np.uintp(i), changed, table, x)
    return touched
