"""A new version of a plug-in takes over the synopses of the one before it, or leaves no trace."""

from dataclasses import replace

import pytest
from plugin_sources import TOTAL, plugin_request, touchy
from wire_messages import create, tuples

from sde.limits import StateLimits
from sde.plugins.process import PluginProcess
from sde.records.loop import Failed
from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine

pytestmark = pytest.mark.usefixtures("quick_examination")

T0 = 1_700_000_000_000
DATA = tuples(
    "d", [(f"s{i % 7}", {"k": i % 10, "v": i % 50, "t": T0 + i * 10}) for i in range(1_000)]
)
SUM = sum(row["values"]["v"] for row in DATA)
LIMITS = StateLimits(plugin_seconds=60, plugin_bytes=256 << 20)
WINDOW = {"type": "tumbling", "size": "2s", "time": "t", "keep": "1m"}

SAME_LAYOUT = TOTAL.replace('"""The sum."""', '"""The sum of all values."""')
# Keeps the count, too; of old states that is not known, so it begins with 0.
WITH_COUNT = TOTAL.replace(
    '{"sum": (np.float64, ())}', '{"count": (np.int64, ()), "sum": (np.float64, ())}'
).replace(
    'np.add.at(arrays["sum"], slots, items.values)',
    'np.add.at(arrays["sum"], slots, items.values)\n        np.add.at(arrays["count"], slots, 1)',
)
MIGRATING = (
    WITH_COUNT
    + '''
    @question
    def count(self) -> Estimate:
        """How many values came since the version before."""
        return Estimate(int(self.arrays["count"][0]))

    @classmethod
    def migrate(cls, old_params, old_state):
        assert old_params["factor"] > 0
        return {"sum": old_state["sum"], "count": 0}
'''
)
FREE = touchy("raises").replace('"raises"', '"total"')
FREE_DOUBLED = (
    FREE
    + """
    @classmethod
    def migrate(cls, old_params, old_state):
        (total,) = struct.unpack("<d", old_state)
        return struct.pack("<d", 2 * total)
"""
)


def engine_with(source, limits=LIMITS):
    engine = LocalEngine(limits=limits)
    engine.run([plugin_request("total", source)])
    assert engine.settle()[0]["status"] == "ok"
    return engine


def uses(engine, **params):
    """Synopses of every scope and with a window; `params` of one of them."""
    total = {"kind": "total", "key": None, "value": "v"}
    engine.run(
        [
            create("all", **total),
            create("each", **total, scope="stream"),
            create("one", **total, scope={"stream": "s3"}, params=params),
            create("windowed", **total, window=WINDOW),
        ],
        DATA,
    )
    engine.settle()
    return engine


def take_over(engine, source, id="p2", data=()):
    """The reply to a version that takes over; tuples may come while it is tried."""
    engine.run([plugin_request("total", source, id=id, migrate=True)])
    replies = engine.replies()  # tried
    if data:
        replies += engine.replies(data=data)
    return next(reply for reply in [*replies, *engine.settle()] if reply["request"] == id)


def value(engine, uid, **fields):
    reply = engine.ask(op="estimate", uid=uid, query=fields.pop("query", {}), **fields)
    assert reply["status"] == "ok", reply
    return reply["value"]


def values(engine):
    return {
        "all": value(engine, "all"),
        "each": value(engine, "each", stream="s3"),
        "one": value(engine, "one"),
        "windowed": value(engine, "windowed", end=T0 + 4_000),
    }


def kinds(engine):
    return {one["uid"]: one["kind"] for one in engine.ask(op="list")["value"]}


def contents(shard):
    """All that a shard keeps of its synopses, whichever slots they have."""
    found = {}
    for uid, instance in shard.registry.uids(None).items():
        figures = shard.layer(instance).figures(None)
        found[uid] = instance.definition.kind, figures, list(shard.kept(instance))
    return found


def replayed(engine, number):
    again = open_shard(number, len(engine.stores), MemoryStore(), LIMITS)
    for entry in engine.entries[number]:
        replay(again, entry)
    return again


@pytest.mark.parametrize(
    ("old", "new"), [(TOTAL, SAME_LAYOUT), (TOTAL, MIGRATING), (FREE, FREE + "\n# mended\n")]
)
def test_synopses_go_on_as_those_of_the_new_version_with_all_they_had(old, new):
    engine = uses(engine_with(old), **({"factor": 2} if old is TOTAL else {}))
    before = values(engine)
    reply = take_over(engine, new)
    assert reply["status"] == "ok", reply
    assert (reply["value"]["kind"], reply["value"]["moved"]) == ("total@2", 4)
    assert set(kinds(engine).values()) == {"total@2"}
    assert values(engine) == before
    engine.send("d", [("s3", {"v": 1_000, "t": T0 + 3_999})])
    assert value(engine, "all") == before["all"] + 1_000
    assert value(engine, "each", stream="s3") == before["each"] + 1_000
    assert engine.ask(op="unplug", id="x", name="total", version=1)["status"] == "ok"


def test_the_arrays_of_a_new_layout_are_what_migrate_makes_of_the_old_ones():
    engine = uses(engine_with(TOTAL))
    assert take_over(engine, MIGRATING)["status"] == "ok"
    engine.send("d", [("s1", {"v": 5}), ("s3", {"v": 5})])
    assert value(engine, "all", query={"type": "count"}) == 2
    assert value(engine, "all") == SUM + 10


def test_a_free_state_is_migrated_as_bytes():
    engine = engine_with(FREE)
    engine.run([create("all", kind="total", key=None, value="v")], DATA)
    assert take_over(engine, FREE_DOUBLED)["status"] == "ok"
    assert value(engine, "all") == 2 * SUM


def test_tuples_that_come_while_a_version_is_tried_are_counted_once():
    engine = uses(engine_with(TOTAL))
    assert take_over(engine, MIGRATING, data=DATA)["status"] == "ok"
    assert value(engine, "all") == 2 * SUM
    assert engine.ask(op="describe", uid="all")["value"]["tuples"] == 2 * len(DATA)


def test_a_watch_goes_on_over_the_change():
    engine = uses(engine_with(TOTAL))
    engine.run([{"id": "w", "op": "watch", "uid": "all", "query": {}, "on": "change"}])
    take_over(engine, SAME_LAYOUT)
    engine.send("d", [("s1", {"v": 5})])
    answers = [reply for reply in engine.settle() if reply["request"] == "w"]
    assert (answers[-1]["value"], answers[-1]["kind"]) == (SUM + 5, "total@2")


def test_without_migrate_in_the_request_running_synopses_keep_their_version():
    engine = uses(engine_with(TOTAL))
    engine.run([plugin_request("total", SAME_LAYOUT, id="p2")])
    assert engine.settle()[-1]["value"]["kind"] == "total@2"
    assert set(kinds(engine).values()) == {"total@1"}


REFUSED = {
    "another layout and no migrate": (WITH_COUNT, "has no migrate"),
    "migrate leaves an array out": (
        MIGRATING.replace('"count": 0}', "}"),
        "expected the arrays count, sum",
    ),
    "an empty state does not stay empty": (
        MIGRATING.replace('"count": 0', '"count": 1'),
        "not empty of an empty one",
    ),
    "a parameter does not take the old value": (
        SAME_LAYOUT.replace("above=0", "above=0, most=1"),
        "synopses of total@1 that have it: delete them, or take such values",
    ),
    "it needs a field that the synopses do not name": (
        SAME_LAYOUT.replace('{"values"}', '{"keys", "values"}'),
        "needs the field of its keys",
    ),
}


@pytest.mark.parametrize("how", REFUSED)
def test_a_version_that_cannot_take_over_is_refused_and_the_old_one_goes_on(how):
    source, reason = REFUSED[how]
    engine = uses(engine_with(TOTAL), factor=2)
    before = values(engine)
    reply = take_over(engine, source)
    assert reply["status"] == "error"
    assert reason in reply["message"]
    goes_on(engine, before)


def goes_on(engine, before):
    """All is as if the version had never come."""
    assert set(kinds(engine).values()) == {"total@1"}
    assert values(engine) == before
    (listed,) = engine.ask(op="plugins")["value"]
    assert (listed["kind"], listed["state"]) == ("total@1", "active")
    for number in range(len(engine.stores)):
        shard = engine.shard(number)
        assert len(shard.registry.instances) == len(kinds(engine))
        assert (shard.registry.shelf.tried, shard.registry.shelf.reasons) == ({}, {})


FAILS = {
    "raises": ("raise KeyError('no such thing')", "no such thing"),
    "is refused": ("from synopses import StateError\n            raise StateError('odd')", "odd"),
    "exits": ("import os\n            os._exit(3)", "exit code 3"),
}


@pytest.mark.parametrize("way", FAILS)
def test_one_state_of_one_shard_that_migrate_fails_on_is_enough(way):
    misbehave, reason = FAILS[way]
    source = MIGRATING.replace(
        'assert old_params["factor"] > 0',
        f'if old_state["sum"] == 777:\n            {misbehave}',
    )
    engine = uses(engine_with(TOTAL))
    engine.send("d", [("a stream", {"v": 777})])
    before = values(engine)
    reply = take_over(engine, source)
    assert reply["code"] == "broken_law"
    assert "total@2 cannot take over total@1" in reply["message"]
    assert reason in reply["message"]
    goes_on(engine, before)
    assert take_over(engine, MIGRATING, id="p3")["value"]["kind"] == "total@3"
    assert value(engine, "each", stream="a stream") == 777


def test_a_version_that_finds_no_room_beside_the_old_one_is_refused():
    engine = engine_with(TOTAL, limits=replace(LIMITS, max_bytes=3 * 40))
    engine.run([create("each", kind="total", key=None, value="v", scope="stream")], DATA)
    assert engine.ask(op="describe", uid="each")["value"]["shed"] == 0
    reply = take_over(engine, SAME_LAYOUT)
    assert "there is no room for its synopses beside the old" in reply["message"]
    assert kinds(engine) == {"each": "total@1"}


@pytest.mark.parametrize("source", [MIGRATING, WITH_COUNT])
def test_a_replay_gives_the_same_states_without_calling_migrate(source, monkeypatch):
    engine = uses(engine_with(TOTAL))
    take_over(engine, source, data=DATA)
    engine.send("d", [("s3", {"v": 1_000, "t": T0 + 3_999})])
    called, real = [], PluginProcess.call

    def noted(self, call, *rest, **options):
        called.append(call.name)
        return real(self, call, *rest, **options)

    monkeypatch.setattr(PluginProcess, "call", noted)
    for number in range(len(engine.stores)):
        again = replayed(engine, number)
        assert contents(again) == contents(engine.shard(number))
    assert "migrate" not in called


def test_what_is_deleted_while_a_version_is_tried_does_not_come_back():
    engine = uses(engine_with(TOTAL))
    engine.run([plugin_request("total", SAME_LAYOUT, id="p2", migrate=True)])
    engine.replies()  # tried
    engine.union, waiting = [], engine.union
    engine.ask(op="delete", uid="one", id="x")
    assert (
        engine.ask(op="create", uid="new", dataset="d", kind="total@2", value="v", id="y")["code"]
        == "unknown_kind"
    )
    assert engine.ask(op="unplug", name="total", version=2, id="z")["code"] == "in_use"
    engine.union = waiting
    (reply,) = [reply for reply in engine.settle() if reply["request"] == "p2"]
    assert reply["value"]["moved"] == 3
    assert kinds(engine).keys() == {"all", "each", "windowed"}
    for number in range(len(engine.stores)):
        assert len(engine.shard(number).registry.instances) == 3


def test_a_version_that_was_examined_for_another_predecessor_takes_nothing_over():
    engine = uses(engine_with(TOTAL))
    engine.run([plugin_request("total", SAME_LAYOUT, id="p2", migrate=True)])
    engine.union, examined = [], engine.union
    engine.run([plugin_request("total", WITH_COUNT, id="p3")])
    assert engine.settle()[-1]["value"]["kind"] == "total@2"
    engine.run([create("newer", kind="total", key=None, value="v")])
    engine.union = examined
    (reply,) = engine.settle()
    assert (reply["code"], "add it again" in reply["message"]) == ("in_use", True)
    assert kinds(engine) == {
        **dict.fromkeys(("all", "each", "one", "windowed"), "total@1"),
        "newer": "total@2",
    }


def test_a_mended_version_takes_over_what_a_quarantined_one_left():
    engine = uses(engine_with(TOTAL))
    engine.tell(Failed(kind="total@1", reason="it loops")).settle()
    engine.send("d", [("s1", {"v": 5})])
    assert take_over(engine, SAME_LAYOUT)["status"] == "ok"
    assert values(engine)["all"] == SUM
    answer = engine.ask(op="estimate", uid="all", query={})
    warning = "1 tuple was dropped: the plug-in was in quarantine"
    assert (answer["kind"], answer["warnings"]) == ("total@2", [warning])


def test_the_same_source_takes_over_what_an_older_version_still_has():
    engine = uses(engine_with(TOTAL))
    engine.run([plugin_request("total", SAME_LAYOUT, id="p2")])
    engine.settle()
    assert take_over(engine, SAME_LAYOUT, id="p3")["value"]["moved"] == 4
    again = engine.run([plugin_request("total", SAME_LAYOUT, id="p4", migrate=True)])["p4"]
    assert (again["value"]["kind"], "moved" in again["value"]) == ("total@3", False)


def test_a_repeated_request_takes_nothing_over_again():
    engine = uses(engine_with(TOTAL))
    first = take_over(engine, SAME_LAYOUT)
    again = engine.run([plugin_request("total", SAME_LAYOUT, id="p2", migrate=True)])["p2"]
    assert again["value"] == first["value"]
    assert len(engine.ask(op="plugins")["value"]) == 2
