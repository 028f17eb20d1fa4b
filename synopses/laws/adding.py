"""What adding may and may not depend on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from synopses.base import Synopsis
from synopses.fixed_point import sum_up
from synopses.laws.law import (
    demand,
    demand_same,
    example_items,
    filled,
    fractions,
    law,
    split,
)


@law()
def batches_do_not_matter(cls: type[Synopsis]) -> None:
    """However a sequence of items is cut into batches, empty ones too: the same bytes."""
    items = example_items(cls, seed=6)
    at_once, in_batches = cls.example(), cls.example()
    at_once.add(items)
    for batch in split(items, [0, 0, 1, 2, 500, 731]):
        in_batches.add(batch)
    demand_same(in_batches, at_once)


@law("order_free")
def order_does_not_matter(cls: type[Synopsis]) -> None:
    """An order-free synopsis of shuffled, sorted or reversed items has the same bytes.

    Also where values are fractions: their sums as floats depend on the order, those of
    `synopses.fixed_point` do not.
    """
    rng = np.random.default_rng(7)
    for items in (example_items(cls, seed=7), fractions(cls, seed=7)):
        orders = [rng.permutation(len(items)), np.arange(len(items))[::-1]]
        if "values" in cls.reads:
            orders.append(np.argsort(items.values.reshape(len(items), -1)[:, 0], kind="stable"))
        straight = cls.example()
        straight.add(items)
        for order in orders:
            other = cls.example()
            other.add(items.take(order))
            demand_same(other, straight)


@law("idempotent")
def adding_twice_is_adding_once(cls: type[Synopsis]) -> None:
    """An idempotent synopsis does not notice repeated items."""
    synopsis = filled(cls, seed=8)
    before = synopsis.to_bytes()
    synopsis.add(example_items(cls, seed=8))
    demand(synopsis.to_bytes() == before, "repeats changed the bytes")


@law("sums_weights")
def sums_are_as_good_as_their_items(cls: type[Synopsis]) -> None:
    """Each key once, with what its weights come to, gives the same bytes as all items."""
    for items in (example_items(cls, seed=21), fractions(cls, seed=21)):
        items.values[::3] *= -1e6
        found, expected = cls.example(), cls.example()
        expected.add(items)
        _, firsts, places = np.unique(items.keys[:, 0], return_index=True, return_inverse=True)
        decimals = found.params["decimals"]
        sums = sum_up(items.values, decimals, places.astype(np.int32), len(firsts))
        once = items.take(firsts)
        found.add(replace(once, values=once.values[:0], sums=sums))
        demand_same(found, expected)


@law("values")
def values_that_are_not_finite_are_left_out(cls: type[Synopsis]) -> None:
    """Items with NaN or an infinity in a value that is read are as good as absent."""
    items = example_items(cls, seed=9)
    spoilt = items.take(np.repeat(np.arange(len(items)), 2))
    for step, bad in ((7, np.nan), (11, np.inf), (13, -np.inf)):
        spoilt.values[1 :: 2 * step] = bad
    found, expected = cls.example(), cls.example()
    found.add(spoilt)
    expected.add(spoilt.take(np.flatnonzero(spoilt.finite())))
    demand_same(found, expected)
