"""Snapshot plus log: whatever happens to the arena, the shard comes back byte for byte."""

import itertools
import shutil

import numpy as np
import pytest
from pure_engine import create, messages, tuples

from sde import durable
from sde.decoding import Limits
from sde.durable import ShardKeeper, StateFormatError
from sde.limits import StateLimits
from sde.snapshot import dump
from sde.stages.ingest import Ingest
from sde.stages.maintain import Maintain


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
        self.ingest = Ingest(of, Limits())

    def keeper(self):
        return ShardKeeper(
            self.folder, 0, self.of, StateLimits(), self.backing, lambda: next(self.tokens)
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
            content = list(dump(keeper._held.arena))
            keeper._held.arena.finish(keeper._head.token)
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


def test_compaction_replaces_the_log_and_restores_the_same(tmp_path, expected, monkeypatch):
    monkeypatch.setattr(durable, "_SMALLEST_LOG", 2_000)
    folder = tmp_path / "shard"
    worker = Worker(folder, DictBacking())
    lengths = []
    for batch in range(6):
        worker.run(batch)
        lengths.append(len(worker.backing.entries))
        lose_the_arena(folder)
        another_process(folder)
    assert worker.backing.chunks
    assert max(lengths) < 6
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
