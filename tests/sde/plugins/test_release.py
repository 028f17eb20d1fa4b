"""A quarantine is lifted by request; what came meanwhile is missed, and said to be."""

import base64

import pytest
from plugin_sources import plugin_request, touchy
from wire_messages import create, tuples

from sde.limits import StateLimits
from sde.records.loop import Failed
from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine
from synopses.state import pack

pytestmark = pytest.mark.usefixtures("quick_examination")

LIMITS = StateLimits(plugin_seconds=60, plugin_bytes=256 << 20)
DATA = tuples("d", [(f"s{i % 7}", {"k": i % 10, "v": i % 50}) for i in range(1_000)])
SUM = sum(row["values"]["v"] for row in DATA)
# A value of 77 that the plug-in cannot stand, with others before and behind it.
POISON = tuples("d", [(f"s{i}", {"k": 3, "v": 77 if i == 5 else 1}) for i in range(10)])


@pytest.fixture
def engine():
    engine = LocalEngine(limits=LIMITS)
    engine.run([plugin_request("raises", touchy("raises"))])
    assert engine.settle()[0]["status"] == "ok"
    touchy_sum = {"kind": "raises", "key": None, "value": "v"}
    engine.run(
        [
            create("all", **touchy_sum),
            create("each", **touchy_sum, scope="stream"),
            create("one", **touchy_sum, scope={"stream": "s3"}),
            create("good"),
        ],
        DATA,
    )
    return engine


def described(engine, uid):
    return engine.ask(op="describe", id=f"d-{uid}", uid=uid)["value"]


def contents(shard):
    found = {}
    for uid, instance in shard.registry.uids(None).items():
        found[uid] = shard.figures([instance]), list(shard.kept(instance))
    return found


def test_a_released_plug_in_goes_on_with_its_states_and_tells_what_it_missed(engine):
    engine.run([], POISON)
    engine.settle()
    engine.run([], DATA)
    assert described(engine, "all")["state"] == "quarantined"
    assert engine.ask(op="release", name="raises")["value"] == ["raises@1"]
    answer = engine.ask(op="estimate", id="e", uid="all", query={})
    assert answer["status"] == "ok"
    missed = 2 * len(DATA) + len(POISON) - answer["tuples"]
    assert missed >= len(DATA)
    warning = f"{missed:,} tuples were dropped: the plug-in was in quarantine"
    assert answer["warnings"] == [warning]
    assert answer["value"] <= SUM + 9  # of the poisoned batch what other shards had
    engine.run([], DATA)
    after = engine.ask(op="estimate", id="f", uid="all", query={})
    assert after["value"] == answer["value"] + SUM
    assert after["warnings"] == [warning]
    assert "state" not in described(engine, "all")
    assert described(engine, "all")["missed"] == missed
    assert "missed" not in described(engine, "good")
    mine = sum(row["stream"] == "s3" for row in DATA)
    assert described(engine, "one")["missed"] in (mine, mine + 1)


def test_a_replay_gives_the_states_that_were_released(engine):
    engine.run([], POISON)
    engine.settle()
    engine.run([], DATA)
    engine.ask(op="release", name="raises", version=1)
    engine.run([], DATA)
    for number, entries in enumerate(engine.entries):
        again = open_shard(number, len(engine.stores), MemoryStore(), LIMITS)
        for entry in entries:
            replay(again, entry)
        assert contents(again) == contents(engine.shard(number))
        assert again.registry.shelf.reasons == {}


def test_a_plug_in_that_misbehaves_again_is_quarantined_again(engine):
    engine.tell(Failed(kind="raises@1", reason="the machine was busy")).settle()
    engine.ask(op="release", name="raises")
    engine.run([], POISON)
    engine.settle()
    what, where, *_ = described(engine, "all")["reason"].splitlines()
    assert what == "add failed: KeyError: 'no such thing'"
    assert 'File "<plug-in raises' in where


def test_a_quarantine_is_one_line_of_the_log_however_many_shards_met_it(engine, caplog):
    engine.run([], tuples("d", [(f"s{i}", {"k": 3, "v": 77}) for i in range(7)]))
    engine.settle()
    engine.ask(op="estimate", id="e", uid="all", query={})
    lines = [r.getMessage() for r in caplog.records if r.name == "sde.requests.examining"]
    assert [line.split(":")[0] for line in lines if "quarantined" in line] == [
        "quarantined kind=raises version=1 key=-"
    ]


def test_what_is_not_quarantined_cannot_be_released(engine):
    refused = engine.ask(op="release", name="raises")
    assert (refused["code"], refused["field"]) == ("bad_request", "name")
    assert "expected one that is quarantined" in refused["message"]
    assert engine.ask(op="release", id="x", name="other")["code"] == "unknown_plugin"


def test_what_outgrew_its_memory_is_released_with_the_state_it_had_before():
    engine = LocalEngine(limits=LIMITS)
    engine.run([plugin_request("grows", touchy("grows"))])
    assert engine.settle()[0]["status"] == "ok"
    grows = {"kind": "grows", "key": None, "value": "v", "scope": {"stream": "s5"}}
    engine.run([create("one", **grows), create("good")], DATA)
    before = engine.ask(op="estimate", id="b", uid="one", query={})["value"]
    engine.run([], POISON)
    engine.settle()
    assert "takes 70 bytes, and declared 8" in described(engine, "one")["reason"]
    assert engine.ask(op="release", name="grows")["value"] == ["grows@1"]
    assert engine.ask(op="estimate", id="e", uid="one", query={})["value"] == before
    assert described(engine, "one")["missed"] == 1
    engine.send("d", [("s5", {"k": 3, "v": 4})])
    assert engine.ask(op="estimate", id="f", uid="one", query={})["value"] == before + 4


def test_a_state_from_outside_that_is_larger_than_declared_is_refused(engine):
    oversized = pack("raises@1", 1, {}, bytes(70))
    state = base64.b64encode(oversized).decode()
    refused = engine.ask(op="import", uid="one", state=state, tuples=1)
    assert (refused["code"], refused["field"]) == ("bad_state", "state")
    assert "70 bytes, expected at most 8" in refused["message"]
