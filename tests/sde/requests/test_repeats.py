"""What must not be carried out twice is known for a day, however many requests come in between."""

import base64

import pytest

from sde.limits import StateLimits
from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine
from sde.testing.messages import TIME
from synopses import CountMin, Items

HOUR = 3_600_000


def state():
    synopsis = CountMin()
    synopsis.add(Items.of(["a"] * 5))
    return base64.b64encode(synopsis.to_bytes()).decode()


IMPORT = {"id": "i", "op": "import", "uid": "u", "state": state(), "tuples": 5}


@pytest.fixture
def engine(tmp_path):
    limits = StateLimits(remembered_requests=10, remembered_states=3)
    engine = LocalEngine(shards=2, limits=limits, snapshots=tmp_path)
    create = {"id": "c", "op": "create", "uid": "u", "dataset": "d", "kind": "count_min"}
    engine.run([{**create, "key": "k"}])
    return engine


def others(engine):
    """More requests than outcomes are remembered."""
    for number in range(11):
        engine.run([{"id": f"x{number}", "op": "unwatch", "watch": "none"}])


def total(engine):
    return engine.ask(op="estimate", uid="u", query={"type": "total"})["value"]


def test_an_import_that_is_repeated_after_many_requests_counts_once(engine):
    first = engine.run([IMPORT])["i"]
    others(engine)
    again = engine.run([IMPORT])["i"]
    assert total(engine) == 5
    assert {**again, "batch": 0, "id": ""} == {**first, "batch": 0, "id": ""}


def test_a_restore_that_is_repeated_after_many_requests_undoes_nothing(engine):
    restore = {"id": "r", "op": "restore", "uid": "u"}
    engine.run([{"id": "s", "op": "snapshot", "uid": "u"}, restore])
    engine.run([IMPORT])
    others(engine)
    assert engine.run([restore])["r"]["status"] == "ok"
    assert total(engine) == 5


def test_an_import_that_was_refused_may_be_repeated(engine):
    missing = {**IMPORT, "uid": "later"}
    assert engine.run([missing])["i"]["status"] == "error"
    others(engine)
    engine.run([{"id": "c2", "op": "create", "uid": "later", "dataset": "d", **KIND}])
    assert engine.run([missing])["i"]["status"] == "ok"


KIND = {"kind": "count_min", "key": "k"}


def test_a_repeat_is_known_for_a_day_by_the_clock_of_the_engine(engine):
    engine.run([IMPORT])
    others(engine)
    assert engine.due == TIME + 24 * HOUR
    engine.tick(TIME + 24 * HOUR - 1).settle()
    engine.run([IMPORT], time=TIME + 24 * HOUR)
    assert total(engine) == 5
    others(engine)
    engine.tick(TIME + 24 * HOUR).settle()
    assert engine.due is None
    engine.run([IMPORT])
    assert total(engine) == 10


def test_an_import_that_could_not_be_remembered_is_refused(engine):
    for number in range(3):
        assert engine.run([{**IMPORT, "id": f"i{number}"}])[f"i{number}"]["status"] == "ok"
    refused = engine.run([{**IMPORT, "id": "i3"}])["i3"]
    assert refused["code"] == "limit_exceeded"
    assert "remembered_states" in refused["message"]
    engine.tick(TIME + 24 * HOUR).settle()
    assert engine.run([{**IMPORT, "id": "i4"}])["i4"]["status"] == "ok"


def test_a_replay_knows_the_same_repeats(engine):
    engine.run([IMPORT])
    others(engine)
    for number, entries in enumerate(engine.entries):
        store = MemoryStore()
        for entry in entries:
            replay(open_shard(number, 2, store, engine.limits), entry)
        engine.stores[number] = store
    engine.run([IMPORT])
    assert total(engine) == 5
