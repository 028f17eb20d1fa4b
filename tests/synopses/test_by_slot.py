import numpy as np
import pytest

from synopses import KINDS, Items
from synopses import by_slot as module


def states(cls, slots, items):
    template = cls.example()
    bank = {n: np.zeros((7, *shape), t) for n, (t, shape) in template.layout().items()}
    template.add_slots(bank, slots, items)
    return [template.at(bank, slot).to_bytes() for slot in range(7)]


@pytest.mark.parametrize("kind", ["bloom", "count_min", "count_min_conservative", "sample"])
def test_a_bank_is_the_same_whether_or_not_items_are_sorted_by_slot_first(kind, monkeypatch):
    rng = np.random.default_rng(5)
    items = KINDS[kind].example_items(rng, 400)
    slots = rng.integers(0, 7, 400).astype(np.int32)
    as_they_came = states(KINDS[kind], slots, items)
    monkeypatch.setattr(module, "_CACHE", 0)
    monkeypatch.setattr(module, "_ITEMS_A_SLOT", 0)
    assert states(KINDS[kind], slots, items) == as_they_came


def test_items_of_a_slot_keep_their_order():
    slots = np.array([2, 0, 2, 1, 0], np.int32)
    rows = module.by_slot(2**30, np.tile(slots, 30), Items.of(values=range(150)))
    assert rows[0].tolist() == [0] * 60 + [1] * 30 + [2] * 60
    assert all(np.diff(rows[1].values[rows[0] == slot]).min() > 0 for slot in range(3))


def test_small_banks_are_left_as_they_are():
    slots, items = np.array([1, 0], np.int32), Items.of(["a", "b"])
    assert module.by_slot(100, slots, items) == (slots, items)
    assert module.by_slot(100, slots[:0], items)[0].size == 0
