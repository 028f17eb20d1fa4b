import os
import shutil

import numpy as np
import pytest

from sde.storage.arena import Arena, ArenaError, shard_lock
from sde.storage.chunks import dump, load
from sde.storage.store import MemoryStore


def filled(store):
    store.array("numbers", np.int64, (), 5)[:5] = range(5)
    store.array("table", np.float64, (2, 3), 2)[1, 1, 2] = 7.5
    store.write_blob("registry", b"blob")
    return store


def contents(store):
    return {n: a.tolist() for n, a in store.arrays()}, dict(store.blobs())


def test_another_process_would_see_the_same_arrays(tmp_path):
    first = filled(Arena(tmp_path))
    assert contents(Arena(tmp_path)) == contents(first)


def test_growing_keeps_what_is_there_and_adds_zeros(tmp_path):
    arena = filled(Arena(tmp_path))
    grown = arena.array("numbers", np.int64, (), 100)
    assert grown[:5].tolist() == [0, 1, 2, 3, 4]
    assert not grown[5:].any()


def test_an_array_grown_by_one_view_is_seen_by_the_other(tmp_path):
    one, two = filled(Arena(tmp_path)), Arena(tmp_path)
    for rows in (50, 5_000, 50_000, 200_000):  # small, moved, moved to a file of its own, grown
        two.refresh()
        two.array("numbers", np.int64, (), rows)[0] = rows
        one.refresh()
        assert one.array("numbers", np.int64, (), 5)[:3].tolist() == [rows, 1, 2]
        assert one.array("table", np.float64, (2, 3), 2)[1, 1, 2] == 7.5
        one, two = two, one


def test_only_a_clean_arena_with_the_right_token_is_trusted(tmp_path):
    arena = filled(Arena(tmp_path))
    assert not arena.holds("t1")
    arena.finish("t1")
    assert arena.holds("t1")
    assert not arena.holds("t2")
    arena.begin()
    assert not arena.holds("t1")
    (tmp_path / "header").write_bytes(b"\xff\xfe garbage")
    assert not arena.holds("t1")


def test_an_arena_that_another_process_built_again_is_not_the_one_that_was_opened(tmp_path):
    """What was read of it may be what a batch did that then failed."""
    stale, builder = filled(Arena(tmp_path)), Arena(tmp_path)
    stale.begin()
    stale.finish("of a batch that failed")
    builder.clear()
    filled(builder).begin()
    builder.finish("t")
    assert builder.holds("t")
    assert Arena(tmp_path).holds("t")
    assert not stale.holds("t")


def test_dropping_forgets_a_group(tmp_path):
    for store in (filled(Arena(tmp_path)), filled(MemoryStore())):
        store.drop("numbers")
        arrays, blobs = contents(store)
        assert list(arrays) == ["table"]
        assert blobs == {"registry": b"blob"}
        assert not store.array("numbers", np.int64, (), 3).any()


def test_a_snapshot_restores_arrays_and_blobs_to_the_byte(tmp_path):
    arena = filled(Arena(tmp_path))
    big = arena.array("big", np.uint8, (1000,), 3000)
    big[2999] = np.random.default_rng(3).integers(0, 255, 1000)
    for other in (MemoryStore(), Arena(tmp_path / "other")):
        load(other, dump(arena))
        assert contents(other) == contents(arena)
        assert list(dump(other)) == list(dump(arena))


def test_a_folder_that_cannot_be_written_is_explained(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ArenaError, match="arena_dir"), shard_lock(tmp_path / "file" / "shard-0"):
        pass


def test_the_lock_keeps_a_second_task_out(tmp_path):
    with shard_lock(tmp_path):
        child = os.fork()
        if child == 0:
            import fcntl

            with open(tmp_path / "lock", "wb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_an_array_whose_file_was_replaced_is_not_grown(tmp_path):
    folder = tmp_path / "shard-0"
    arena = Arena(folder)
    arena.begin()
    filled(arena)
    shutil.rmtree(folder)
    with pytest.raises(ArenaError, match="changed by somebody else during a batch"):
        arena.array("numbers", np.int64, (), 100)
    assert not Arena(folder).holds("token")


def test_an_arena_that_was_deleted_during_a_batch_gets_no_token(tmp_path):
    """Also if an array was met for the first time after that, when it had to be empty."""
    folder = tmp_path / "shard-0"
    arena = Arena(folder)
    arena.begin()
    shutil.rmtree(folder)
    filled(arena)
    with pytest.raises(ArenaError, match="arena_dir"):
        arena.finish("token")
    assert not Arena(folder).holds("token")
