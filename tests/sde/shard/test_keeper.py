"""Snapshot plus log: whatever happens to the arena, the shard comes back byte for byte."""

import itertools
import shutil
import subprocess
from contextlib import contextmanager

import numpy as np
import pytest
from wire_messages import create, tuples

from sde.decoding import Limits
from sde.limits import StateLimits
from sde.records.seal import LoopSeal
from sde.shard import keeper as durable
from sde.shard.keeper import Head, ShardKeeper, StateFormatError
from sde.shard.shard import Shard
from sde.stages.ingest import Ingest
from sde.stages.maintain import SHARD_CODE, Maintain
from sde.storage.arena import ArenaError
from sde.storage.chunks import dump
from sde.testing import messages


class DictBacking:
    """What a state store holds; `copy` is what was committed."""

    def __init__(self, head=None, entries=(), chunks=()):
        self.head, self.entries, self.chunks = head, dict(entries), dict(chunks)

    def copy(self):
        return DictBacking(self.head, self.entries, self.chunks)

    def read_head(self):
        return self.head

    def write_head(self, head):
        self.head = head

    def read_entry(self, number):
        return self.entries[number]

    def write_entry(self, number, entry):
        self.entries[number] = entry

    def drop_entry(self, number):
        del self.entries[number]

    def read_chunk(self, number):
        return self.chunks[number]

    def write_chunk(self, number, chunk):
        self.chunks[number] = chunk

    def drop_chunk(self, number):
        del self.chunks[number]


class Worker:
    """Runs batches on one shard, as a Python worker of Spark does."""

    tokens = map(str, itertools.count())

    def __init__(self, folder, backing, of=1):
        self.folder, self.backing, self.of = folder, backing, of
        self.ingest = Ingest(of, Limits(), LoopSeal.new())

    def keeper(self):
        return ShardKeeper(
            self.folder,
            0,
            self.of,
            StateLimits(),
            self.backing,
            SHARD_CODE,
            lambda: next(self.tokens),
        )

    def run(self, batch, fail=False):
        data = self.ingest.on_data(messages(batch_tuples(batch), offset=1000 * batch))
        requests = [create(f"u{batch}", scope="stream"), create(f"w{batch}", "hyperloglog")]
        arrived = self.ingest.on_requests(messages(requests, "requests", offset=10 * batch))
        keeper = self.keeper()
        with keeper.opened() as shard:
            stage = Maintain(shard, batch)
            stage.on_batch(arrived, data.blocks)
            if fail:
                raise RuntimeError("the task failed in the middle")
            keeper.commit(stage.entry, batch)

    def content(self):
        keeper = self.keeper()
        with keeper.opened():
            content = list(dump(keeper._current.arena))
            keeper._current.arena.finish(keeper._head.token)
        return content


def batch_tuples(batch):
    rng = np.random.default_rng(batch)
    return tuples("d", [(f"s{s}", {"k": int(k)}) for s, k in rng.integers(0, 30, (300, 2))])


@pytest.fixture
def expected(tmp_path):
    worker = Worker(tmp_path / "expected", DictBacking())
    for batch in range(6):
        worker.run(batch)
    return worker.content()


@pytest.fixture(autouse=True)
def forget_open_shards():
    yield
    durable._open_shards.clear()


def lose_nothing(folder):
    pass


def lose_the_arena(folder):
    shutil.rmtree(folder)


def another_process(folder):
    durable._open_shards.clear()


def leave_it_dirty(folder):
    (folder / "header").write_text("dirty")


def damage_the_header(folder):
    (folder / "header").write_bytes(b"\xff" * 50)


@pytest.mark.parametrize(
    "mishap",
    [lose_nothing, lose_the_arena, another_process, leave_it_dirty, damage_the_header],
)
def test_after_a_mishap_between_batches_the_state_is_what_it_would_be(tmp_path, mishap, expected):
    folder = tmp_path / "shard"
    worker = Worker(folder, DictBacking())
    for batch in range(6):
        worker.run(batch)
        mishap(folder)
    assert worker.content() == expected


def test_a_task_that_fails_in_the_middle_is_repeated_from_the_committed_state(tmp_path, expected):
    worker = Worker(tmp_path / "shard", DictBacking())
    for batch in range(6):
        committed = worker.backing.copy()
        with pytest.raises(RuntimeError):
            worker.run(batch, fail=True)
        worker.backing = committed
        worker.run(batch)
    assert worker.content() == expected


def test_an_attempt_whose_commit_was_lost_does_not_count(tmp_path, expected):
    """The task finished, but Spark committed another attempt."""
    worker = Worker(tmp_path / "shard", DictBacking())
    for batch in range(6):
        committed = worker.backing.copy()
        worker.run(batch)
        worker.backing = committed
        worker.run(batch)
    assert worker.content() == expected


@contextmanager
def process(knows):
    """Another process of the same machine, with what it knows of shards."""
    durable._open_shards.clear()
    durable._open_shards.update(knows)
    yield
    knows.clear()
    knows.update(durable._open_shards)


def test_an_attempt_that_does_not_count_is_forgotten_by_the_process_that_made_it(
    tmp_path, expected
):
    """Another process built the arena again: as large as before, and yet another."""
    worker, one, other = Worker(tmp_path / "shard", DictBacking()), {}, {}
    for batch in range(0, 6, 2):
        committed = worker.backing.copy()
        with process(one):
            worker.run(batch + 50)
        worker.backing = committed
        with process(other):
            worker.run(batch)
        with process(one):
            worker.run(batch + 1)
            with worker.keeper().opened() as shard:
                assert shard.registry.find(f"u{batch + 50}") is None
                assert shard.registry.find(f"u{batch}") is not None
    with process(one):
        assert worker.content() == expected


def test_a_task_that_fails_between_two_adds_is_repeated_from_the_committed_state(
    tmp_path, expected, monkeypatch
):
    """Half of a batch is in the arena when it fails, in the same process and in another."""
    worker = Worker(tmp_path / "shard", DictBacking())
    add = Shard.add
    for batch in range(6):
        committed = worker.backing.copy()
        monkeypatch.setattr(Shard, "add", add_and_fail(add))
        with pytest.raises(RuntimeError):
            worker.run(batch)
        monkeypatch.setattr(Shard, "add", add)
        if batch % 2:
            another_process(worker.folder)
        worker.backing = committed
        worker.run(batch)
    assert worker.content() == expected


def add_and_fail(add):
    def failing(shard, block):
        add(shard, block)
        raise RuntimeError("the task failed in the middle of an add")

    return failing


@pytest.fixture
def eager(monkeypatch):
    """Snapshots are taken often and written in many small steps."""
    monkeypatch.setattr(durable, "_SMALLEST_LOG", 2_000)
    monkeypatch.setattr(durable, "_CHUNK_BYTES", 20_000)
    monkeypatch.setattr(durable, "_DROPS", 5)


@pytest.mark.parametrize("mishap", [lose_nothing, lose_the_arena, another_process])
def test_a_snapshot_that_is_written_over_many_batches_restores_the_same(tmp_path, eager, mishap):
    twin = Worker(tmp_path / "twin", DictBacking())
    worker = Worker(tmp_path / "shard", DictBacking())
    entries = []
    for batch in range(24):
        twin.run(batch)
        worker.run(batch)
        entries.append(len(worker.backing.entries))
        mishap(worker.folder)
    head = Head(**worker.backing.head)
    assert head.end_chunk > 0, "no snapshot was finished"
    assert head.next_entry == 24
    assert max(entries) < 24
    assert worker.content() == twin.content()


def test_a_snapshot_whose_copy_is_lost_is_given_up_and_taken_again(tmp_path, eager, expected):
    worker = Worker(tmp_path / "shard", DictBacking())
    for batch in range(6):
        worker.run(batch)
        shutil.rmtree(tmp_path / "shard-copy", ignore_errors=True)
    head = Head(**worker.backing.head)
    assert head.end_chunk == 0
    assert set(worker.backing.chunks) == set(range(head.end_chunk, head.next_chunk))
    lose_the_arena(worker.folder)
    assert worker.content() == expected


def test_a_log_of_many_small_entries_is_replaced_too(tmp_path, monkeypatch):
    monkeypatch.setattr(durable, "_MOST_ENTRIES", 5)
    worker = Worker(tmp_path / "shard", DictBacking())
    for batch in range(20):
        worker.run(batch)
    assert len(worker.backing.entries) < 12


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path, small_disk, expected):
    """Without room beforehand a page that is touched would kill the process."""
    worker = Worker(small_disk / "shard", DictBacking())
    done, committed, told = 0, worker.backing, ""
    while not told:
        committed = worker.backing.copy()
        try:
            worker.run(done)
            done += 1
        except ArenaError as error:
            told = str(error)
    assert "No space left" in told
    assert "arena_dir" in told
    assert done < 6
    worker.backing, worker.folder = committed, tmp_path / "roomy"
    for batch in range(done, 6):
        worker.run(batch)
    assert worker.content() == expected


def test_another_format_or_number_of_shards_is_refused(tmp_path):
    worker = Worker(tmp_path / "shard", DictBacking())
    worker.run(0)
    worker.backing.head = {**worker.backing.head, "format": 0}
    with pytest.raises(StateFormatError, match="format 0"):
        worker.run(1)
    worker.backing.head = {**worker.backing.head, "format": durable.FORMAT}
    worker.of = 2
    with pytest.raises(StateFormatError, match="shards=1"):
        worker.run(1)
