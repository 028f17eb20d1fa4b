"""Groups of a store by themselves: dumped, brought back, copied, in both stores."""

import numpy as np
import pytest

from sde.storage.arena import Arena
from sde.storage.groups import copy_group, dump_groups, load_groups
from sde.storage.store import MemoryStore


@pytest.fixture(params=["memory", "arena"])
def store(request, tmp_path):
    made = MemoryStore() if request.param == "memory" else Arena(tmp_path / "shard-0")
    for group in ("bank-1", "bank-2", "layer-1"):
        made.array(f"{group}.tuples", np.int64, (), 5)[:5] = range(5)
        made.array(f"{group}.a.cells", np.float32, (2, 3), 2)[1] = 0.5
        made.write_blob(f"{group}.o.7", group.encode())
        made.write_blob(f"{group}.o.8", b"")
    return made


def content(store, group):
    arrays = {name: array.tolist() for name, array in store.arrays(group)}
    return arrays, dict(store.blobs(group))


def test_what_was_dumped_comes_back_and_other_groups_stay_as_they_are(store):
    before = {group: content(store, group) for group in ("bank-1", "layer-1")}
    held = dump_groups(store, ["layer-1", "bank-1"])
    for group in ("bank-1", "bank-2", "layer-1"):
        store.array(f"{group}.tuples", np.int64, (), 9)[:9] = -1
        store.write_blob(f"{group}.o.7", b"changed")
    store.write_blob("bank-1.o.9", b"new")
    changed = content(store, "bank-2")
    load_groups(store, ["bank-1", "layer-1"], held)
    assert {group: content(store, group) for group in before} == before
    assert content(store, "bank-2") == changed


def test_a_copy_has_the_same_content_and_shares_nothing(store):
    copy_group(store, "bank-1", "bank-9")
    arrays, blobs = content(store, "bank-1")
    copied = content(store, "bank-9")
    assert copied == (
        {name.replace("bank-1", "bank-9"): array for name, array in arrays.items()},
        {name.replace("bank-1", "bank-9"): blob for name, blob in blobs.items()},
    )
    store.array("bank-1.tuples", np.int64, (), 5)[0] = 77
    assert content(store, "bank-9") == copied


def test_a_group_is_not_another_one_whose_name_begins_alike(store):
    store.write_blob("bank-10.o.7", b"another")
    assert "bank-10.o.7" not in dict(store.blobs("bank-1"))
    assert len(list(store.arrays("bank-1"))) == 2
