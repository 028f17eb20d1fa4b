"""Versions of synopses: taken, listed, brought back here or elsewhere."""

import json
import shutil

import numpy as np
import pytest
from exchanging import (
    SCOPES,
    T0,
    WINDOWS,
    asked,
    contents,
    export,
    exports,
    feed,
    filled,
    kinds_and_scopes,
    make,
    rows,
)

from sde.shard.versions import Versions, pack_part, read_part
from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine
from sde.wire import Refusal


def snapshot(engine, uid="u", **fields):
    request = {"id": f"snap-{engine.batch}", "op": "snapshot", "uid": uid, **fields}
    (reply,) = engine.replies([request], time=T0 + 1000 * engine.batch)
    return reply


def restore(engine, uid="u", **fields):
    request = {"id": f"rest-{engine.batch}", "op": "restore", "uid": uid, **fields}
    (reply,) = engine.replies([request])
    return reply


def listed(engine, **fields):
    return engine.ask(op="snapshots", **fields)["value"]


@pytest.mark.parametrize(("kind", "scope"), kinds_and_scopes())
@pytest.mark.parametrize("shards", [1, 4])
def test_a_snapshot_comes_back_in_an_engine_with_other_shards(kind, scope, shards, tmp_path):
    engine = filled(make("u", kind, scope), snapshots=tmp_path)
    assert snapshot(engine)["value"] == "1"
    before = exports(engine, "u", scope)
    other = LocalEngine(shards=shards, snapshots=tmp_path)
    reply = restore(other)
    assert (reply["status"], reply["value"], reply["uid"]) == ("ok", "1", "u")
    assert exports(other, "u", scope) == before
    assert reply["since"] == export(engine, "u", **asked(scope)[0])["since"]


def windowed():
    return [
        pytest.param(scope, window, id=f"{scope if isinstance(scope, str) else 'one'}-{window}")
        for scope in SCOPES
        for window in WINDOWS
        if scope != "dataset" or window != "count"
    ]


def closed(engine, uid, scope, window):
    """The windows that a stream, or the data set, had: their states and tuples."""
    if window == "session":
        return exports(engine, uid, scope)
    ends = [10, 20] if window == "count" else [T0 + s * 1000 for s in (10, 20, 30, 40, 50)]
    return [exports(engine, uid, scope, end=end) for end in ends]


@pytest.mark.parametrize("kind", ["count_min", "theta", "moments"])
@pytest.mark.parametrize(("scope", "window"), windowed())
def test_a_windowed_snapshot_comes_back_with_all_its_panes(kind, scope, window, tmp_path):
    engine = filled(make("u", kind, scope, window=WINDOWS[window]), snapshots=tmp_path)
    snapshot(engine)
    before = closed(engine, "u", scope, window)
    feed(engine, rows(3, start=150))
    told = engine.ask(op="describe", uid="u")["value"]
    for target in (engine, LocalEngine(shards=2, snapshots=tmp_path)):
        assert restore(target, **{"as": "back"})["status"] == "ok"
        assert closed(target, "back", scope, window) == before
        assert target.ask(op="describe", uid="back")["value"]["window"] == told["window"]


@pytest.mark.parametrize("window", ["tumbling", "sliding", "session"])
@pytest.mark.parametrize("scope", ["dataset", "stream"])
def test_the_window_that_was_open_is_open_again_elsewhere(scope, window, tmp_path):
    engine = filled(make("u", "count_min", scope, window=WINDOWS[window]), snapshots=tmp_path)
    snapshot(engine)
    other = LocalEngine(shards=2, snapshots=tmp_path)
    restore(other)
    assert exports(other, "u", scope) == exports(engine, "u", scope)


@pytest.mark.parametrize("scope", ["stream", {"stream": "s1"}], ids=str)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_window_by_count_counts_on_after_a_restore(scope, elsewhere, tmp_path):
    window = {"type": "sliding", "size": 20, "slide": 5}
    twin = filled(make("u", "count_min", scope, window=window))
    engine = filled(make("u", "count_min", scope, window=window), snapshots=tmp_path)
    snapshot(engine)
    feed(engine, rows(9))
    target = LocalEngine(shards=2, snapshots=tmp_path) if elsewhere else engine
    restore(target)
    for one in (target, twin):
        feed(one, rows(4))
    assert exports(target, "u", scope) == exports(twin, "u", scope)


@pytest.mark.parametrize("kind", ["count_min", "quantiles", "frequent_items", "sample"])
def test_a_restored_synopsis_goes_on_as_if_nothing_had_been(kind, tmp_path):
    engine = filled(make("u", kind, "stream"), snapshots=tmp_path)
    snapshot(engine)
    other = LocalEngine(shards=3, snapshots=tmp_path)
    restore(other)
    other._offsets = dict(engine._offsets)
    for one in (engine, other):
        feed(one, rows(7, start=150))
    assert exports(other, "u", "stream") == exports(engine, "u", "stream")


def test_the_newest_or_a_named_version_is_restored(tmp_path):
    engine = filled(make("u", "count_min"), snapshots=tmp_path)
    states = {}
    for name in (None, "monday", None):
        version = snapshot(engine, **({} if name is None else {"version": name}))["value"]
        states[version] = exports(engine, "u", "dataset")
        feed(engine, rows(len(states) + 1))
    assert list(states) == ["1", "monday", "3"]
    assert restore(engine)["value"] == "3"
    assert exports(engine, "u", "dataset") == states["3"]
    for version, state in states.items():
        assert restore(engine, version=version)["value"] == version
        assert exports(engine, "u", "dataset") == state


def test_the_newest_is_the_last_taken_also_of_many_in_one_batch(tmp_path):
    engine = filled(make("u", "count_min"), snapshots=tmp_path)
    requests = [{"id": f"s{n}", "op": "snapshot", "uid": "u"} for n in range(11)]
    replies = engine.replies(requests)
    assert [r["value"] for r in replies] == [str(n) for n in range(1, 12)]
    assert [one["version"] for one in listed(engine)] == [str(n) for n in range(1, 12)]
    assert restore(engine)["value"] == "11"


def test_a_number_that_was_given_as_a_name_is_not_given_again(tmp_path):
    engine = filled(make("u", "count_min"), snapshots=tmp_path)
    given = [snapshot(engine, **f)["value"] for f in ({"version": "2"}, {}, {"version": "9"}, {})]
    assert given == ["2", "3", "9", "10"]


def test_as_makes_a_new_synopsis_beside_the_old(tmp_path):
    engine = filled(make("u", "count_min", "stream"), snapshots=tmp_path)
    snapshot(engine)
    before = exports(engine, "u", "stream")
    feed(engine, rows(2))
    assert restore(engine, **{"as": "old"})["uid"] == "old"
    assert exports(engine, "old", "stream") == before
    assert exports(engine, "u", "stream") != before
    taken = restore(engine, **{"as": "old"})
    assert (taken["code"], taken["field"]) == ("synopsis_exists", "as")


def test_a_uid_that_is_another_synopsis_by_now_is_not_overwritten(tmp_path):
    engine = filled(make("u", "count_min"), snapshots=tmp_path)
    snapshot(engine)
    engine.run([{"id": "x", "op": "delete", "uid": "u"}, {**make("u", "hyperloglog"), "id": "y"}])
    reply = restore(engine)
    assert (reply["code"], reply["field"]) == ("synopsis_exists", "uid")
    assert engine.ask(op="describe", uid="u")["value"]["kind"] == "hyperloglog"


def test_versions_are_listed_oldest_first_with_what_they_are(tmp_path):
    engine = filled(make("u", "count_min"), make("v", "dft", {"stream": "s1"}), snapshots=tmp_path)
    for uid in ("u", "v", "u"):
        snapshot(engine, uid)
    told = listed(engine)
    assert [(t["uid"], t["version"], t["kind"]) for t in told] == [
        ("u", "1", "count_min"),
        ("v", "1", "dft"),
        ("u", "2", "count_min"),
    ]
    assert told[1]["scope"] == {"stream": "s1"}
    assert {t["dataset"] for t in told} == {"d"}
    assert all(t["bytes"] > 0 and t["shards"] == 3 for t in told)
    assert [t["at"] for t in told] == sorted(t["at"] for t in told)
    assert [t["version"] for t in listed(engine, uid="u")] == ["1", "2"]
    assert listed(engine, uid="nope") == []


def test_repeated_ids_take_and_restore_once(tmp_path):
    engine = filled(make("u", "count_min"), snapshots=tmp_path)
    take = {"id": "take", "op": "snapshot", "uid": "u"}
    assert [engine.replies([take])[0]["value"] for _ in range(2)] == ["1", "1"]
    back = {"id": "back", "op": "restore", "uid": "u"}
    engine.replies([back])
    feed(engine, rows(2))
    after = exports(engine, "u", "dataset")
    assert engine.replies([back])[0]["status"] == "ok"
    assert exports(engine, "u", "dataset") == after
    assert len(listed(engine)) == 1


@pytest.mark.parametrize("uid", ["../../up", "a/b", "ü" * 300, ".", "a b", "-", "x\n"])
def test_any_uid_has_snapshots_of_its_own_within_the_folder(uid, tmp_path):
    folder = tmp_path / "snapshots"
    engine = filled(make(uid, "count_min"), make("u", "count_min"), snapshots=folder)
    assert snapshot(engine, uid)["status"] == "ok"
    assert restore(engine, uid)["status"] == "ok"
    assert listed(engine, uid="u") == []
    assert [p.name for p in tmp_path.iterdir()] == ["snapshots"]


@pytest.mark.parametrize("version", ["", "../up", "a/b", ".hidden", "x" * 101, "a b", "ü"])
def test_versions_that_are_no_file_names_are_refused(version, tmp_path):
    engine = filled(make("u", "count_min"), snapshots=tmp_path / "snapshots")
    for reply in (snapshot(engine, version=version), restore(engine, version=version)):
        assert (reply["status"], reply["field"]) == ("error", "version")


def test_a_root_may_end_in_a_slash(tmp_path):
    engine = filled(make("u", "count_min"), snapshots=f"{tmp_path}/")
    snapshot(engine)
    assert [t["version"] for t in listed(engine)] == ["1"]
    assert restore(engine)["status"] == "ok"


def version_folder(tmp_path):
    (about,) = tmp_path.glob("*/*/version.json")
    return about.parent


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 4
    path.write_bytes(bytes(data))


def other_format(path):
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))


def absurd(path):
    path.write_text(json.dumps({**json.loads(path.read_text()), "of": 10**15}))


@pytest.mark.parametrize("damage", [cut, flip, lambda p: p.write_bytes(b"")])
@pytest.mark.parametrize("scope", ["dataset", "stream"])
def test_a_damaged_part_is_refused_by_all_shards_and_changes_nothing(damage, scope, tmp_path):
    engine = filled(make("u", "count_min", scope), snapshots=tmp_path)
    snapshot(engine)
    feed(engine, rows(2))
    before = contents(engine)
    damage(version_folder(tmp_path) / "1-of-3")
    reply = restore(engine)
    assert (reply["status"], reply["code"]) == ("error", "bad_state")
    new = restore(engine, **{"as": "new"})
    assert (new["status"], new["code"]) == ("error", "bad_state")
    assert contents(engine) == before
    assert [one["uid"] for one in engine.ask(op="list")["value"]] == ["u"]


@pytest.mark.parametrize("damage", [cut, other_format, absurd, lambda p: p.write_text("[]")])
def test_a_damaged_version_is_not_listed_and_hides_no_other(damage, tmp_path):
    engine = filled(make("u", "count_min"), snapshots=tmp_path)
    snapshot(engine)
    damage(version_folder(tmp_path) / "version.json")
    assert restore(engine)["code"] == "unknown_version"
    assert snapshot(engine)["value"] == "2"
    assert [t["version"] for t in listed(engine)] == ["2"]
    assert restore(engine)["value"] == "2"
    assert restore(engine, version="1")["code"] == "unknown_version"


def test_a_version_that_lacks_a_part_is_not_there(tmp_path):
    engine = filled(make("u", "count_min"), snapshots=tmp_path)
    snapshot(engine)
    part = version_folder(tmp_path) / "2-of-3"
    part.rename(part.with_name("2-of-3.tmp"))
    assert listed(engine) == []
    reply = restore(engine)
    assert (reply["code"], reply["field"]) == ("unknown_version", "version")


def test_random_damage_to_a_part_is_noticed():
    rng = np.random.default_rng(3)
    engine = filled(make("u", "count_min", "stream"), shards=1)
    shard = engine.shard(0)
    good = pack_part(shard.kept(shard.registry.instance("u")))
    assert pack_part(read_part(good)) == good
    for _ in range(300):
        bad = bytearray(good)
        bad[rng.integers(len(bad))] ^= 1 << rng.integers(8)
        with pytest.raises(Refusal):
            read_part(bytes(bad[: len(bad) - int(rng.integers(2))]))


def test_a_folder_that_cannot_be_written_is_a_fault_also_when_replayed(tmp_path):
    (tmp_path / "file").write_text("no folder")
    engine = filled(make("u", "count_min"), snapshots=tmp_path / "file")
    reply = snapshot(engine)
    assert (reply["status"], reply["code"]) == ("error", "internal")
    assert_replayed(engine)


def assert_replayed(engine):
    for number, entries in enumerate(engine.entries):
        store = MemoryStore()
        for entry in entries:
            replay(open_shard(number, len(engine.stores), store, engine.limits), entry)
        held = engine.stores[number]
        assert dict(store.blobs()) == dict(held.blobs())
        assert {n: a.tobytes() for n, a in store.arrays()} == {
            n: a.tobytes() for n, a in held.arrays()
        }


@pytest.mark.parametrize("window", [None, *WINDOWS])
def test_a_replay_restores_what_was_read_then_although_the_files_are_gone(window, tmp_path):
    fields = {} if window is None else {"window": WINDOWS[window]}
    engine = filled(
        make("u", "count_min", "stream", **fields), make("v", "moments"), snapshots=tmp_path
    )
    snapshot(engine)
    snapshot(engine, "v", version="named")
    feed(engine, rows(2, start=150))
    restore(engine)
    restore(engine, "v", **{"as": "w"})
    restore(engine, "v", **{"as": "u"})
    restore(engine, "nope")
    flip(next(tmp_path.glob("v-*/named/1-of-3")))
    restore(engine, "v")
    feed(engine, rows(3, start=300))
    shutil.rmtree(tmp_path)
    assert_replayed(engine)


def test_a_library_writes_the_same_version_twice_without_harm(tmp_path):
    engine = filled(make("u", "count_min"), shards=1)
    shard = engine.shard(0)
    instance = shard.registry.instance("u")
    snap = filled(make("u", "count_min"), shards=1, snapshots=tmp_path)
    snapshot(snap)
    (about,) = Versions(str(tmp_path)).versions("u")
    Versions(str(tmp_path)).save(about, 0, shard.kept(instance))
    assert Versions(str(tmp_path)).versions("u") == [about]
