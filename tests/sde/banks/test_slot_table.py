import numpy as np

from sde.banks.slot_table import SlotTable
from sde.storage.store import MemoryStore


def test_it_behaves_like_a_dictionary_under_random_inserts_and_removes():
    rng = np.random.default_rng(1)
    store = MemoryStore()
    table, expected = SlotTable(store, "t"), {}
    for step in range(200):
        new = np.unique(rng.integers(0, 5_000, 40).astype(np.uint64))
        new = np.array([h for h in new if int(h) not in expected], np.uint64)
        slots = rng.integers(0, 1 << 20, len(new)).astype(np.int32)
        table.insert(new, slots)
        expected.update(zip(new.tolist(), slots.tolist(), strict=True))
        for gone in rng.choice(sorted(expected), 15, replace=False):
            table.remove(np.array([gone], np.uint64))
            del expected[int(gone)]
        if step % 50 == 0:
            table = SlotTable(store, "t")  # opened again, as another worker does
    wanted = np.arange(5_000, dtype=np.uint64)
    assert table.find(wanted).tolist() == [expected.get(int(h), -1) for h in wanted]
    hashes, slots = table.entries()
    assert dict(zip(hashes.tolist(), slots.tolist(), strict=True)) == expected
    assert len(table) == len(expected)


def test_colliding_hashes_are_told_apart():
    table = SlotTable(MemoryStore(), "t")
    same_place = np.arange(64, dtype=np.uint64) << np.uint64(40)
    table.insert(same_place, np.arange(64, dtype=np.int32))
    assert table.find(same_place).tolist() == list(range(64))
    assert table.find(np.array([1], np.uint64)).tolist() == [-1]
