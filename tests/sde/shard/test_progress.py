"""What a shard reports of its clocks: the tuples of the batch, not those of a replay."""

from wire_messages import create

from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine

T0 = 1_700_000_000_000


def rows(second):
    return [{"dataset": "d", "stream": "s", "time": T0 + 1000 * second, "values": {"k": "a"}}]


def started():
    engine = LocalEngine(shards=1)
    engine.run([create("u", window={"type": "tumbling", "size": "10s"})])
    for partition, second in ((1, 1), (0, 2)):
        engine.run(data=rows(second), partition=partition)
        engine.settle()
    return engine


class OneShard(LocalEngine):
    """As a worker that has replayed a log: the very shard goes on with the next batch."""

    def __init__(self, shard):
        super().__init__(shards=1)
        self._shard = shard

    def shard(self, number):
        return self._shard


def test_after_a_replay_a_batch_reports_the_partitions_of_its_own_tuples_only():
    live = started()
    shard = open_shard(0, 1, MemoryStore(), live.limits)
    for entry in live.entries[0]:
        replay(shard, entry)
    assert shard.clocks("d") == {}
    replayed = OneShard(shard)
    for engine in (live, replayed):
        engine.run(data=rows(40), partition=0, time=T0 + 60_000)
    bodies = [[e.wiring.seal.open(m).body for m in e.union] for e in (live, replayed)]
    assert bodies[0] == bodies[1]
    assert b'"data/1"' not in b"".join(bodies[0])
