"""A version that is removed is gone for every later request, and for no earlier one."""

import pytest
from exchanging import SCOPES, crashed, exports, filled, make

from sde.records.seal import LoopSeal
from sde.testing import LocalEngine
from sde.testing.messages import TIME


def request(op, **fields):
    return {"id": f"{op}-{sorted(fields.items())}", "op": op, "uid": "u", **fields}


TAKE_X, REMOVE_X = request("snapshot", version="x"), request("remove_snapshot", version="x")
RESTORE_X = request("restore", version="x", **{"as": "v"})


@pytest.fixture
def engine(tmp_path):
    engine = LocalEngine(shards=3, snapshots=tmp_path, seal=LoopSeal.new("one"))
    engine.run([make("u", "count_min")])
    return engine


def versions(engine):
    return [each["version"] for each in engine.ask(op="snapshots", uid="u")["value"]]


def files(tmp_path):
    return sorted(path.name for path in tmp_path.rglob("*") if path.is_file())


def status(replies):
    return [reply["status"] if reply["status"] == "ok" else reply["code"] for reply in replies]


def test_a_version_is_removed_and_its_files_go_with_the_next_one(engine, tmp_path):
    engine.run([TAKE_X])
    (reply,) = engine.replies([REMOVE_X])
    assert (reply["status"], reply["uid"], reply["value"]) == ("ok", "u", "x")
    assert versions(engine) == []
    assert status(engine.replies([RESTORE_X])) == ["unknown_version"]
    engine.run([request("snapshot", version="y")])
    assert files(tmp_path) == ["0-of-3", "1-of-3", "2-of-3", "version.json"]
    assert len([path for path in tmp_path.rglob("*") if path.is_dir()]) == 2  # of u, and of y
    assert versions(engine) == ["y"]


def test_a_version_of_a_synopsis_that_is_deleted_is_removed(engine):
    engine.run([TAKE_X])
    engine.run([request("delete")])
    assert status(engine.replies([REMOVE_X])) == ["ok"]


def test_a_version_that_is_not_there_is_refused(engine):
    early = {**REMOVE_X, "id": "early"}
    assert status(engine.replies([early])) == ["unknown_version"]
    engine.run([TAKE_X])
    engine.run([REMOVE_X])
    again = {**REMOVE_X, "id": "again"}
    assert status(engine.replies([again])) == ["unknown_version"]
    assert status(engine.replies([REMOVE_X])) == ["ok"]  # a repeat


def test_a_repeated_batch_says_the_same(engine):
    engine.run([TAKE_X])
    requests = [RESTORE_X, REMOVE_X, {**REMOVE_X, "id": "again"}]
    set_back = crashed(engine)
    first = engine.replies(requests)
    assert status(first) == ["ok", "ok", "unknown_version"]
    set_back()
    assert engine.replies(requests) == first
    assert versions(engine) == []


def test_a_version_that_was_removed_may_be_taken_again_in_the_same_batch(engine, tmp_path):
    engine.run([TAKE_X])
    requests = [REMOVE_X, {**TAKE_X, "id": "again"}, RESTORE_X]
    set_back = crashed(engine)
    assert status(engine.replies(requests)) == ["ok"] * 3
    set_back()
    assert status(engine.replies(requests))[1:] == ["ok"] * 2
    engine.run([request("snapshot", version="y")])
    assert versions(engine) == ["x", "y"]


@pytest.mark.parametrize("scope", SCOPES, ids=str)
def test_what_is_restored_and_removed_in_one_batch_comes_back_whole(scope, tmp_path):
    """Also in shards that are slower than the one that removes it."""
    engine = filled(make("u", "count_min", scope), snapshots=tmp_path)
    before = exports(engine, "u", scope)
    engine.run([TAKE_X])
    assert status(engine.replies([RESTORE_X, REMOVE_X])) == ["ok", "ok"]
    assert exports(engine, "v", scope) == before


def test_what_another_engine_removed_is_swept_after_a_day(engine, tmp_path):
    engine.run([TAKE_X])
    engine.run([REMOVE_X])
    other = LocalEngine(shards=1, snapshots=tmp_path, seal=LoopSeal.new("other"))
    other.run([make("w", "count_min")])
    take = {"id": "t", "op": "snapshot", "uid": "w", "version": "1"}
    other.run([take])
    assert "removed.json" in files(tmp_path)
    other.run([{**take, "id": "t2", "version": "2"}], time=TIME + 25 * 3_600_000)
    assert files(tmp_path) == ["0-of-1", "0-of-1", "version.json", "version.json"]
