"""A version is not overwritten unless told to, and with `keep` only the newest stay."""

from contextlib import contextmanager

import pytest
from exchanging import contents, crashed, feed, make, rows

from clients import Client, VersionExists
from sde.records.seal import LoopSeal
from sde.requests.versioning import Versions
from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine, LocalTransport


@pytest.fixture
def engine(tmp_path):
    engine = LocalEngine(shards=3, snapshots=tmp_path, seal=LoopSeal.new("one"))
    engine.run([make("u", "count_min"), make("other", "count_min")])
    return engine


def take(request_id, uid="u", **fields):
    return {"id": request_id, "op": "snapshot", "uid": uid, **fields}


def versions(engine, uid="u"):
    reply = engine.ask(op="snapshots", uid=uid, id=f"l-{engine.batch}")
    return [each["version"] for each in reply["value"]]


def outcomes(replies):
    return [reply["value"] if reply["status"] == "ok" else reply["code"] for reply in replies]


def tuples_in(engine, version):
    uid = f"of-{version}-{engine.batch}"
    reply = engine.ask(op="restore", uid="u", version=version, **{"as": uid}, id=f"r-{uid}")
    assert reply["status"] == "ok", reply
    return engine.ask(op="describe", uid=uid, id=f"d-{uid}")["value"]["tuples"]


def replayed(engine):
    """The engine with all its shards built again from their logs."""
    for number, entries in enumerate(engine.entries):
        store = MemoryStore()
        for entry in entries:
            replay(open_shard(number, len(engine.stores), store, engine.limits), entry)
        engine.stores[number] = store


# -- names ----------------------------------------------------------------------------------------


def test_a_version_that_is_there_is_not_overwritten(engine):
    engine.run([take("a", version="x")])
    feed(engine, rows())
    (refused,) = engine.replies([take("b", version="x")])
    assert (refused["code"], refused["field"]) == ("version_exists", "version")
    assert "expected another name, or `replace`" in refused["message"]
    assert tuples_in(engine, "x") == 0


def test_a_version_is_overwritten_when_told_to(engine):
    engine.run([take("a", version="x")])
    feed(engine, rows())
    assert outcomes(engine.replies([take("b", version="x", replace=True)])) == ["x"]
    assert (versions(engine), tuples_in(engine, "x")) == (["x"], 150)


def test_a_name_that_another_synopsis_uses_is_free(engine):
    engine.run([take("a", version="x")])
    assert outcomes(engine.replies([take("b", "other", version="x")])) == ["x"]


def test_of_two_with_one_name_in_a_batch_the_second_is_refused(engine):
    requests = [
        take("a", version="x"),
        take("b", version="x"),
        take("c", version="x", replace=True),
    ]
    set_back = crashed(engine)
    first = engine.replies(requests)
    assert outcomes(first) == ["x", "version_exists", "x"]
    set_back()
    assert engine.replies(requests) == first


@pytest.mark.parametrize("fields", [{}, {"replace": True}], ids=["new", "replace"])
def test_a_repeated_batch_is_not_refused_for_its_own_version(engine, fields):
    if fields:
        engine.run([take("before", version="x")])
    requests = [take("a", version="x", **fields)]
    set_back = crashed(engine)
    first = engine.replies(requests)
    set_back()
    assert engine.replies(requests) == first
    assert outcomes(first) == ["x"]


def test_a_repeated_request_gets_the_outcome_of_the_first(engine):
    first = engine.replies([take("a", version="x")])
    assert outcomes(engine.replies([take("a", version="x")])) == outcomes(first) == ["x"]


def test_a_replay_gives_the_outcomes_of_the_first_time(engine):
    engine.run([take("a", version="x")])
    requests = [take("b", version="x"), take("c", version="x", replace=True), take("d", keep=2)]
    first = outcomes(engine.replies(requests))
    replayed(engine)
    assert outcomes(engine.replies(requests)) == first == ["version_exists", "x", "3"]


def test_no_number_is_given_that_is_the_name_of_another_engines_version(engine, tmp_path):
    engine.run([take("a", version="2")])
    other = LocalEngine(shards=1, snapshots=tmp_path, seal=LoopSeal.new("other"))
    other.run([make("u", "count_min")])
    assert outcomes(other.replies([take("b"), take("c")])) == ["3", "4"]


# -- keep -----------------------------------------------------------------------------------------


def test_the_newest_versions_stay_and_those_of_other_synopses(engine):
    engine.run([take("o", "other")])
    for number in range(5):
        engine.run([take(f"a{number}")])
    assert outcomes(engine.replies([take("b", keep=3)])) == ["6"]
    assert versions(engine) == ["4", "5", "6"]
    assert versions(engine, "other") == ["1"]


def test_fewer_versions_than_may_stay_all_stay(engine):
    engine.run([take("a")])
    engine.run([take("b", keep=5)])
    assert versions(engine) == ["1", "2"]


def test_a_version_that_took_the_place_of_another_is_the_newest(engine):
    for name in ("x", "y", "z"):
        engine.run([take(f"a{name}", version=name)])
    engine.run([take("b", version="x", replace=True, keep=2)])
    assert versions(engine) == ["z", "x"]


def test_versions_of_the_same_batch_count(engine):
    engine.run([take("a")])
    engine.replies([take("b", keep=2), take("c", keep=2), take("d", keep=2)])
    assert versions(engine) == ["3", "4"]


def test_a_repeated_batch_keeps_the_same_versions(engine):
    for number in range(3):
        engine.run([take(f"a{number}")])
    restore = {"id": "r", "op": "restore", "uid": "u", "version": "1", "as": "v"}
    gone = {"id": "g", "op": "restore", "uid": "u", "version": "2", "as": "w"}
    requests = [restore, take("b", keep=3), take("c", keep=2), gone]
    set_back = crashed(engine)
    first = engine.replies(requests)
    assert outcomes(first) == ["1", "4", "5", "unknown_version"]
    kept = versions(engine)
    set_back()
    assert engine.replies(requests) == first
    assert versions(engine) == kept == ["4", "5"]


def test_the_files_of_older_versions_go(engine, tmp_path):
    for number in range(6):
        engine.run([take(f"a{number}", keep=2)])
    folders = {path.parent.name for path in tmp_path.rglob("version.json")}
    assert folders == {"5", "6"}
    assert len(list(tmp_path.rglob("removed.json"))) == 1  # of the last batch


def test_one_version_alone_is_refused(engine):
    (reply,) = engine.replies([take("a", keep=1)])
    assert (reply["code"], reply["field"]) == ("bad_request", "keep")
    assert "at least 2" in reply["message"]


# -- full disks -----------------------------------------------------------------------------------


@pytest.fixture
def full_disk(monkeypatch):
    """While it is entered, one of the shards cannot write."""
    save = Versions.save

    def save_unless_full(self, version, shard, kept):
        if shard == 2:
            raise OSError("no space left")
        save(self, version, shard, kept)

    @contextmanager
    def full():
        with monkeypatch.context() as patch:
            patch.setattr(Versions, "save", save_unless_full)
            yield

    return full


def test_the_version_before_stays_when_a_shard_cannot_write_its_part(engine, full_disk):
    engine.run([take("a", version="good")])
    with full_disk():
        assert outcomes(engine.replies([take("b", keep=2)])) == ["internal"]
    assert versions(engine) == ["good"]


def test_a_number_is_used_up_in_all_shards_when_one_cannot_write(engine, full_disk):
    with full_disk():
        twice = [take("a"), take("b", version="x"), take("c", version="x")]
        assert outcomes(engine.replies(twice)) == ["internal", "internal", "version_exists"]
    feed(engine, rows())
    before = contents(engine)
    replayed(engine)
    assert contents(engine) == before
    assert outcomes(engine.replies([take("d")])) == ["3"]
    assert versions(engine) == ["3"]
    assert tuples_in(engine, "3") == 150


def test_the_client_says_that_a_version_exists(engine):
    with Client(LocalTransport(engine)) as sde:
        synopsis = sde.synopsis("u")
        synopsis.snapshot("x")
        with pytest.raises(VersionExists, match="is kept already"):
            synopsis.snapshot("x")
        assert synopsis.snapshot("x", replace=True, keep=2) == "x"
