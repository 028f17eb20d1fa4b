"""A batch that runs again after a crash finds the snapshots that it took the first time."""

import pytest
from exchanging import SCOPES, crashed, exports, feed, filled, make, rows

from sde.records.seal import LoopSeal
from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine


@pytest.fixture
def engine(tmp_path):
    engine = LocalEngine(shards=2, snapshots=tmp_path, seal=LoopSeal.new("one"))
    engine.run([make("u", "count_min")])
    return engine


def versions(engine):
    return [each["version"] for each in engine.ask(op="snapshots", uid="u")["value"]]


def test_a_snapshot_of_a_repeated_batch_has_the_same_number(engine):
    requests = [{"id": f"s{i}", "op": "snapshot", "uid": "u"} for i in range(3)]
    set_back = crashed(engine)
    first = engine.run(requests)
    set_back()
    assert engine.run(requests) == first
    assert versions(engine) == ["1", "2", "3"]
    assert engine.ask(id="s4", op="snapshot", uid="u")["value"] == "4"


def test_a_repeated_batch_restores_and_lists_what_it_found_the_first_time(engine):
    engine.run([{"id": "s", "op": "snapshot", "uid": "u"}])
    feed(engine, rows())
    requests = [
        {"id": "r", "op": "restore", "uid": "u", "as": "v"},
        {"id": "l", "op": "snapshots", "uid": "u"},
        {"id": "t", "op": "snapshot", "uid": "u"},
    ]
    set_back = crashed(engine)
    first = engine.run(requests)
    set_back()
    assert engine.run(requests) == first
    assert engine.ask(op="describe", uid="v")["value"]["tuples"] == 0


def test_another_engine_with_the_same_topics_sees_all_versions(engine, tmp_path):
    for i in range(3):
        engine.run([{"id": f"s{i}", "op": "snapshot", "uid": "u"}])
    other = LocalEngine(shards=3, snapshots=tmp_path, seal=LoopSeal.new("other"))
    assert other.ask(op="restore", uid="u")["value"] == "3"
    assert other.ask(id="t", op="snapshot", uid="u")["value"] == "4"


@pytest.mark.parametrize("scope", SCOPES, ids=str)
@pytest.mark.parametrize("version", [None, "x"])
def test_what_was_taken_is_restored_in_the_same_batch(scope, version, tmp_path):
    engine = filled(make("u", "count_min", scope), snapshots=tmp_path)
    before = exports(engine, "u", scope)
    taken, restored = engine.run(
        [
            {"id": "s", "op": "snapshot", "uid": "u", "version": version},
            {"id": "r", "op": "restore", "uid": "u", "version": version, "as": "v"},
        ]
    ).values()
    assert (restored["status"], restored["value"]) == ("ok", taken["value"])
    assert exports(engine, "v", scope) == before
    for number, entries in enumerate(engine.entries):
        store = MemoryStore()
        for entry in entries:
            replay(open_shard(number, len(engine.stores), store, engine.limits), entry)
        engine.stores[number] = store
    assert exports(engine, "v", scope) == before
