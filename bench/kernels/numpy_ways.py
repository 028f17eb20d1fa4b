"""How one would update each kind's state with plain numpy, from the same items.

Kinds whose next state depends on the last item by item have no such way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synopses import Items

Words = NDArray[np.uint64]


def _columns_of(keys: Words, row: int, width: int) -> NDArray[np.int64]:
    h = keys[:, 0] + np.uint64(row) * (keys[:, 1] | np.uint64(1))
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    return (((h >> np.uint64(32)) * np.uint64(width)) >> np.uint64(32)).astype(np.int64)


def _zeros(words: Words) -> NDArray[np.int64]:
    """Leading zeros of each word, by way of its exponent as a float."""
    return 64 - np.frexp(words.astype(np.float64))[1]


def count_min(template: Any, items: Items) -> None:
    table = np.zeros((template.depth, template.width), np.int64)
    weights = np.rint(items.values * 10**template.decimals).astype(np.int64)
    for row in range(template.depth):
        np.add.at(table[row], _columns_of(items.keys, row, template.width), weights)


def ams(template: Any, items: Items) -> None:
    table = np.zeros((template.depth, template.width), np.int64)
    weights = np.rint(items.values * 10**template.decimals).astype(np.int64)
    for row in range(template.depth):
        columns = _columns_of(items.keys, row, 2 * template.width)
        np.add.at(table[row], columns >> 1, np.where(columns & 1, weights, -weights))


def bloom(template: Any, items: Items) -> None:
    words = np.zeros(template.bits // 64 + 1, np.uint64)
    for row in range(template.hashes):
        at = _columns_of(items.keys, row, template.bits)
        np.bitwise_or.at(words, at >> 6, np.uint64(1) << (at & 63).astype(np.uint64))


def fm(template: Any, items: Items) -> None:
    maps = np.zeros(template.bitmaps, np.uint64)
    at = _columns_of(items.keys, 0, template.bitmaps)
    np.bitwise_or.at(maps, at, np.uint64(1) << (_zeros(items.keys[:, 1]) & 63).astype(np.uint64))


def hyperloglog(template: Any, items: Items) -> None:
    registers = np.zeros(1 << template.lg_k, np.uint8)
    at = (items.keys[:, 0] & np.uint64((1 << template.lg_k) - 1)).astype(np.int64)
    np.maximum.at(registers, at, (_zeros(items.keys[:, 1]) + 1).astype(np.uint8))


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


def histogram(template: Any, items: Items) -> None:
    np.histogram(items.values, template.buckets, (template.low, template.high))


def log_histogram(template: Any, items: Items) -> None:
    growth = np.log((1 + template.relative_error) / (1 - template.relative_error))
    buckets = np.log(template.largest / template.smallest) / growth + 1
    with np.errstate(divide="ignore"):
        places = np.log(np.abs(items.values) / template.smallest) / growth + 1
    places = np.copysign(np.clip(places, 0, buckets), items.values)
    np.bincount((places + buckets).astype(np.int64))


def window(template: Any, items: Items) -> None:
    """Latest value of each tick, carried forward; panes as deviations; the product with P."""
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
    table = template.transform.table.reshape(template.panes, template.pane_ticks, -1)
    for block in range(min(template.panes, whole)):
        deviations[block :: template.panes] @ table[block]


WAYS: dict[str, Callable[[Any, Items], None]] = {
    "ams": ams,
    "bloom": bloom,
    "count_min": count_min,
    "dft": window,
    "fm": fm,
    "frequent_items": exact_counts,
    "histogram": histogram,
    "hyperloglog": hyperloglog,
    "log_histogram": log_histogram,
    "lossy_counting": exact_counts,
    "lsh": window,
    "moments": moments,
    "quantiles": quantiles,
    "sample": sample,
    "sticky_sampling": exact_counts,
    "theta": theta,
    "top_k": exact_counts,
}
