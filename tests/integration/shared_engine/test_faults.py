"""Parts of a running engine are killed or spoilt; afterwards it knows what a batch program knows.

A killed driver has a test of its own (test_kill.py); `python -m bench.faults` does all of it for
longer and at random.
"""

import base64
import os
import shutil
import signal
import time

import numpy as np
import pytest
from integration.waiting import wait_for_tuples

from bench.processes import task_workers
from clients.address import EngineFolder
from clients.processes import runs
from synopses import KINDS, Items

pytestmark = pytest.mark.integration

ASKED = ("count_min", "hyperloglog")
STREAMS = 40


class Counted:
    """A data set with synopses in the engine, and all that was sent to it."""

    def __init__(self, sde, dataset):
        self.sde, self.dataset = sde, dataset
        self.streams, self.keys = [], []
        for kind in ASKED:
            for scope in ("dataset", "stream"):
                uid = self.uid(kind, scope)
                sde.create(kind, dataset=dataset, uid=uid, key="k", scope=scope)

    def uid(self, kind, scope):
        return f"{self.dataset} {kind} {scope}"

    def send(self, count):
        rng = np.random.default_rng(len(self.keys))
        streams, keys = rng.integers(0, STREAMS, count), rng.zipf(1.3, count) % 1000
        self.sde.send_many(
            self.dataset,
            [(f"s{s}", {"k": k}) for s, k in zip(streams.tolist(), keys.tolist(), strict=True)],
        )
        self.streams += streams.tolist()
        self.keys += keys.tolist()

    def check(self):
        """Every state is that of a recomputation, byte for byte."""
        wait_for_tuples(self.sde, self.uid("count_min", "dataset"), len(self.keys))
        streams, keys = np.array(self.streams), np.array(self.keys)
        expected = {}
        for kind in ASKED:
            expected[self.uid(kind, "dataset"), None] = recomputed(kind, keys)
            for number in range(STREAMS):
                one = recomputed(kind, keys[streams == number])
                expected[self.uid(kind, "stream"), f"s{number}"] = one
        exports = {
            (uid, stream): self.sde.submit("export", uid=uid, stream=stream)
            for uid, stream in expected
        }
        wrong = [
            place
            for place, export in exports.items()
            if base64.b64decode(export.result()["value"]) != expected[place]
        ]
        assert wrong == []


def recomputed(kind, keys):
    synopsis = KINDS[kind]()
    synopsis.add(Items.of(keys))
    return synopsis.to_bytes()


def test_a_killed_python_worker_costs_nothing_and_counts_nothing_twice(engine):
    rng = np.random.default_rng(1)
    with engine.client() as sde:
        data = Counted(sde, "worker")
        for _ in range(3):
            data.send(20_000)
            time.sleep(rng.uniform(0.1, 0.8))  # so that a batch is in the middle of something
            for worker in task_workers(engine.process.pid)[:2]:
                os.kill(worker, signal.SIGKILL)
        data.send(20_000)
        data.check()
    assert runs(engine.process.pid)


def test_a_broker_that_is_away_for_long_is_waited_for_and_told_once(engine):
    """So long that the query gives up; it goes on where it was when the broker is back."""
    before = len(engine.said)
    with engine.client(timeout=240) as sde:
        data = Counted(sde, "broker")
        data.send(20_000)
        engine.broker.kill()
        folder = EngineFolder(engine.process.folder)
        deadline = time.monotonic() + 240
        while folder.status().state != "waiting":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert "waits for its Kafka" in folder.why_silent(engine.process.bootstrap_servers)
        engine.broker.start()
        data.send(20_000)
        data.check()
    assert runs(engine.process.pid)
    away, back = engine.said[before:]
    assert "does not answer" in away
    assert "answers again" in back


def delete_all(shard):
    shutil.rmtree(shard)


def delete_arrays(shard):
    for file in array_files(shard):
        file.unlink()


def cut_arrays(shard):
    for file in array_files(shard):
        os.truncate(file, file.stat().st_size // 2)


def write_rubbish_into_the_header(shard):
    (shard / "header").write_bytes(os.urandom(200))


def array_files(shard):
    """The largest files: what else there is describes them."""
    files = [file for file in shard.rglob("*") if file.is_file()]
    return [file for file in files if file.stat().st_size > 10_000]


@pytest.mark.parametrize(
    "spoil", [delete_all, write_rubbish_into_the_header, delete_arrays, cut_arrays]
)
def test_a_spoilt_arena_is_built_again_from_the_state_store(engine, spoil):
    """(Other numbers written into an array, under a header that still fits, nobody can see.)"""
    with engine.client() as sde:
        data = Counted(sde, spoil.__name__)
        data.send(20_000)
        data.check()
        shards = sorted((engine.process.folder / "arena").glob("shard-*"))
        for shard in shards[:2]:
            spoil(shard)
        data.send(5_000)
        data.check()
    assert runs(engine.process.pid)
