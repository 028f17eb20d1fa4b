"""How one would update each kind's state with plain numpy, from the same items.

The first group fills the kind's own arrays, of one synopsis or of a bank; `slots` is None for one,
which spares numpy the arithmetic. A test compares the result with ours, to the bit. The second
group makes a single state of the same use. Kinds whose next state depends on the last item by
item have no such way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synopses import Items
from synopses.base import Arrays

Words = NDArray[np.uint64]
Slots = NDArray[np.int32] | None

# -- the kind's own arrays ------------------------------------------------------------------------


def _columns_of(words: Words, width: int) -> NDArray[np.int64]:
    """The upper half of each word, scaled to the width."""
    return (((words >> np.uint64(32)) * np.uint64(width)) >> np.uint64(32)).astype(np.int64)


def _mixed(items: Items, row: int, seed: int = 0) -> Words:
    """Double hashing for one row."""
    h = (items.keys[:, 0] ^ np.uint64(seed)) + np.uint64(row) * (items.keys[:, 1] | np.uint64(1))
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    return h


def _zeros(words: Words) -> NDArray[np.int64]:
    """Leading zeros of each word, by way of its exponent as a float."""
    return np.asarray(64 - np.frexp(words.astype(np.float64))[1])


def _in_bank(slots: Slots, size: int, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places in a flat bank of synopses of this size."""
    return at if slots is None else slots.astype(np.int64) * size + at


def _units(template: Any, items: Items) -> NDArray[np.int64]:
    return np.asarray(np.rint(items.values * 10**template.decimals), np.int64)


def count_min(template: Any, arrays: Arrays, slots: Slots, items: Items) -> None:
    table, depth, width = arrays["table"].reshape(-1), template.depth, template.width
    weights = _units(template, items)
    for row in range(depth):
        at = _columns_of(_mixed(items, row, template.seed), width)
        np.add.at(table[row * width :], _in_bank(slots, depth * width, at), weights)
    for name, sums in (("total", weights), ("absolute", np.abs(weights))):
        if slots is None:
            arrays[name][0] += sums.sum()
        else:
            np.add.at(arrays[name], slots, sums)


def ams(template: Any, arrays: Arrays, slots: Slots, items: Items) -> None:
    table, depth, width = arrays["table"].reshape(-1), template.depth, template.width
    weights = _units(template, items)
    for row in range(depth):
        words = _mixed(items, row, template.seed)
        signed = np.where((words >> np.uint64(31)) & np.uint64(1), weights, -weights)
        at = _in_bank(slots, depth * width, _columns_of(words, width))
        np.add.at(table[row * width :], at, signed)


def bloom(template: Any, arrays: Arrays, slots: Slots, items: Items) -> None:
    words = arrays["words"].reshape(-1)
    for row in range(template.hashes):
        at = _columns_of(_mixed(items, row), template.bits)
        bits = np.uint64(1) << (at & 63).astype(np.uint64)
        np.bitwise_or.at(words, _in_bank(slots, template.bits // 64, at >> 6), bits)


def fm(template: Any, arrays: Arrays, slots: Slots, items: Items) -> None:
    words, h2 = arrays["words"].reshape(-1), items.keys[:, 1] | np.uint64(1 << 63)
    at = _columns_of(items.keys[:, 0], template.bitmaps)
    lowest = h2 & (~h2 + np.uint64(1))
    np.bitwise_or.at(words, _in_bank(slots, template.bitmaps, at), lowest)


def hyperloglog(template: Any, arrays: Arrays, slots: Slots, items: Items) -> None:
    size = 1 << template.lg_k
    at = (items.keys[:, 0] & np.uint64(size - 1)).astype(np.int64)
    found = (np.minimum(_zeros(items.keys[:, 1]), 62) + 1).astype(np.uint8)
    np.maximum.at(arrays["registers"].reshape(-1), _in_bank(slots, size, at), found)


def histogram(template: Any, arrays: Arrays, slots: Slots, items: Items) -> None:
    n, low, high, values = template.buckets, template.low, template.high, items.values
    if slots is None:
        counts = arrays["counts"][0]
        counts[1:-1] += np.histogram(values, n, (low, high))[0]
        counts[0] += np.count_nonzero(values < low)
        counts[-1] += np.count_nonzero(values > high)
        return
    at = np.clip(np.floor((values - low) * (n / (high - low))) + 1, 0, n + 1).astype(np.int64)
    at[values == high] = n
    np.add.at(arrays["counts"].reshape(-1), _in_bank(slots, n + 2, at), 1)


def log_histogram(template: Any, arrays: Arrays, slots: Slots, items: Items) -> None:
    size = arrays["counts"].shape[1]
    growth = np.log((1 + template.relative_error) / (1 - template.relative_error))
    with np.errstate(divide="ignore"):
        places = np.floor(np.log(np.abs(items.values) / template.smallest) / growth) + 1
    places = np.copysign(np.clip(places, 0, size // 2), items.values)
    at = (places + size // 2).astype(np.int64)
    if slots is None:
        arrays["counts"][0] += np.bincount(at, minlength=size)
    else:
        np.add.at(arrays["counts"].reshape(-1), _in_bank(slots, size, at), 1)


# -- a state of the same use ----------------------------------------------------------------------


def theta(template: Any, items: Items) -> None:
    np.unique(items.keys[:, 0])[: 1 << template.lg_k].copy()


def exact_counts(template: Any, items: Items) -> None:
    _, places = np.unique(items.keys[:, 0], return_inverse=True)
    np.sort(np.bincount(places, weights=items.values))


def sample(template: Any, items: Items) -> None:
    np.argpartition(items.ids * np.uint64(0x9E3779B97F4A7C15), template.k)[: template.k].copy()


def quantiles(template: Any, items: Items) -> None:
    np.sort(items.values)


def moments(template: Any, items: Items) -> None:
    """The same digits of 28 bits: each power is split exactly and added up place by place.

    Plain sums of floats are faster, but are another thing: they depend on the order.
    """
    digits = np.zeros(256, np.int64)
    for power in (items.values, items.values**2, items.values**3):
        rest, exponent = np.frexp(power)
        at = (exponent + 1100) // 28
        for _ in range(3):
            rest = rest * 2.0**28
            whole = np.floor(rest)
            np.add.at(digits, np.clip(at, 0, 255), whole.astype(np.int64))
            rest, at = rest - whole, at - 1
    items.values.min(), items.values.max()


def window(template: Any, items: Items) -> None:
    """Latest value of each tick, carried forward; panes as deviations; the product with P.

    Without what ours does for items that come late, and for a stream that starts.
    """
    ticks = items.times // template.interval_ms
    ticks -= ticks[0]
    order = np.argsort(items.times, kind="stable")
    last = np.full(ticks.max() + 1, -1)
    last[ticks[order]] = order
    present = np.where(last >= 0, np.arange(len(last)), 0)
    values = items.values[last[np.maximum.accumulate(present)]]
    whole = len(values) // template.pane_ticks
    panes = values[: whole * template.pane_ticks].reshape(whole, template.pane_ticks)
    deviations = panes - panes.mean(axis=1, keepdims=True)
    (deviations**2).sum(axis=1)
    if getattr(template, "keep_window", False):  # in one byte a tick
        scale = np.abs(deviations).max(axis=1, keepdims=True) / 127
        kept = np.rint(deviations / scale).astype(np.int8)
        ((deviations - scale * kept) ** 2).sum(axis=1)
    table = template.transform.table.reshape(template.panes, template.pane_ticks, -1)
    for block in range(min(template.panes, whole)):
        deviations[block :: template.panes] @ table[block]


SAME_STATE: dict[str, Callable[[Any, Arrays, Slots, Items], None]] = {
    "ams": ams,
    "bloom": bloom,
    "count_min": count_min,
    "fm": fm,
    "histogram": histogram,
    "hyperloglog": hyperloglog,
    "log_histogram": log_histogram,
}
SAME_USE: dict[str, Callable[[Any, Items], None]] = {
    "dft": window,
    "frequent_items": exact_counts,
    "lossy_counting": exact_counts,
    "lsh": window,
    "moments": moments,
    "quantiles": quantiles,
    "sample": sample,
    "sticky_sampling": exact_counts,
    "theta": theta,
    "top_k": exact_counts,
}
