"""Merging parts, subtracting parts, and banks of many."""

from __future__ import annotations

from typing import Any

import numpy as np

from synopses.base import BankedSynopsis, Synopsis
from synopses.errors import MergeError
from synopses.laws.law import (
    LawError,
    N,
    answers,
    demand,
    demand_same,
    disagreement,
    example_items,
    filled,
    fractions,
    law,
    split,
)


@law("mergeable")
def merging_parts_gives_the_whole(cls: type[Synopsis]) -> None:
    """Merged parts are the synopsis of all items: to the bit if order-free, else in the answers.

    What answers may differ by is what they say themselves: see `disagreement`.
    """
    adds_arrays_up = cls._merge is BankedSynopsis._merge
    demand(
        cls.linear or not adds_arrays_up,
        "it is not linear, so adding the arrays up does not merge it: write _merge(self, other), "
        "or set mergeable = False",
    )
    items = example_items(cls, seed=10)
    whole = cls.example()
    whole.add(items)
    rng = np.random.default_rng(10)
    anywhere = [sorted(rng.integers(0, len(items), parts).tolist()) for parts in (1, 4, 9)]
    for cuts in ([1], [0, len(items)], *anywhere):
        merged = cls.example()
        for part in split(items, cuts):
            other = cls.example()
            other.add(part)
            before = other.to_bytes()
            merged.merge(other)
            unchanged = other.to_bytes() == before
            demand(unchanged, "merging changed the one merged in")
        if cls.order_free:
            demand_same(merged, whole)
            continue
        pairs = zip(answers(merged), answers(whole), strict=True)
        for (name, of_parts), (_, of_whole) in pairs:
            why = disagreement(of_parts, of_whole)
            demand(not why, f"{name}: of the parts and of the whole, {why}")


@law("mergeable", "order_free")
def the_way_of_merging_does_not_matter(cls: type[Synopsis]) -> None:
    """Parts of an order-free synopsis, merged in any order and any tree, have the whole's bytes."""
    items, rng = fractions(cls, seed=20), np.random.default_rng(20)
    whole = cls.example()
    whole.add(items)
    for count in (2, 3, 7):
        part_of = rng.integers(0, count, len(items))
        parts = [cls.example() for _ in range(count)]
        for number, part in enumerate(parts):
            part.add(items.take(np.flatnonzero(part_of == number)))
        while len(parts) > 1:
            into, other = rng.choice(len(parts), 2, replace=False)
            parts[into].merge(parts[other])
            del parts[other]
        demand_same(parts[0], whole)


@law("mergeable")
def merging_with_empty_changes_nothing(cls: type[Synopsis]) -> None:
    """An empty synopsis is neutral on the right, and for order-free kinds on the left."""
    synopsis, same = filled(cls, seed=11), filled(cls, seed=11)
    synopsis.merge(cls.example())
    demand_same(synopsis, same)
    if cls.order_free:
        empty = cls.example()
        empty.merge(same)
        demand_same(empty, same)


@law()
def merging_refuses_strangers(cls: type[Synopsis]) -> None:
    """Itself, another kind and other parameters are refused, and leave the state as it was."""

    class Stranger(cls):  # type: ignore[misc, valid-type]
        kind = "stranger"

    synopsis = filled(cls, seed=12)
    before = synopsis.to_bytes()
    strangers: list[Any] = [synopsis, Stranger(**synopsis.params)]
    if "seed" in cls.parameters:
        strangers.append(cls(**{**synopsis.params, "seed": synopsis.params["seed"] + 1}))
    for stranger in strangers:
        try:
            synopsis.merge(stranger)
        except MergeError:
            unchanged = synopsis.to_bytes() == before
            demand(unchanged, "a refused merge changed the state")
        else:
            demand(False, f"{stranger!r} was merged")


@law("linear")
def linear_states_subtract(cls: type[Synopsis]) -> None:
    """Whole minus part is the rest, array by array: windows slide by subtraction."""
    items = example_items(cls, seed=13)
    one, two = split(items, [400])
    synopses = whole, part, rest = cls.example(), cls.example(), cls.example()
    for synopsis, added in zip(synopses, (items, one, two), strict=True):
        synopsis.add(added)
    if not isinstance(whole, BankedSynopsis):
        raise LawError(f"{cls.__name__} is linear, so it must be a BankedSynopsis")
    whole.subtract_slots(whole.arrays, np.zeros(1, np.int32), part.arrays)  # type: ignore[attr-defined]
    demand_same(whole, rest)


@law("banked")
def a_bank_is_many_singles(cls: type[Synopsis]) -> None:
    """Adding one batch to many slots at once equals adding each slot's items to its own."""
    items, slots_of = example_items(cls, seed=14), np.random.default_rng(14).integers(0, 7, N)
    template: Any = cls.example()
    bank = {n: np.zeros((7, *shape), t) for n, (t, shape) in template.layout().items()}
    for batch in np.split(np.arange(len(items)), [300]):
        template.add_slots(bank, slots_of[batch].astype(np.int32), items.take(batch))
    for slot in range(7):
        single = cls.example()
        single.add(items.take(np.flatnonzero(slots_of == slot)))
        demand_same(template.at(bank, slot), single)
