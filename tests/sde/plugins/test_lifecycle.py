"""Plug-ins in the three stages, without Spark and Kafka; their processes are real."""

import base64

import pytest
from plugin_sources import TOTAL, WAYS, plugin_request, touchy
from wire_messages import create, tuples

from sde.limits import StateLimits
from sde.plugins.process import PluginProcess
from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine
from synopses import CountMin, Items

T0 = 1_700_000_000_000
DATA = tuples(
    "d", [(f"s{i % 7}", {"k": i % 10, "v": i % 50, "t": T0 + i * 10}) for i in range(1_000)]
)

pytestmark = pytest.mark.usefixtures("quick_examination")
SUM = sum(row["values"]["v"] for row in DATA)
LIMITS = StateLimits(plugin_seconds=60, plugin_bytes=256 << 20)
SOON = StateLimits(plugin_seconds=3, plugin_bytes=256 << 20)


def engine_with(name="total", source=TOTAL, limits=LIMITS, **options):
    engine = LocalEngine(limits=limits, **options)
    engine.run([plugin_request(name, source)])
    (reply,) = engine.settle()
    assert reply["status"] == "ok", reply
    assert reply["value"]["kind"] == f"{name}@1"
    return engine


def create_total(uid="u", kind="total", **fields):
    return create(uid, kind=kind, key=None, value="v", **fields)


def estimate(engine, uid="u", **fields):
    return engine.ask(op="estimate", uid=uid, query=fields.pop("query", {}), **fields)


def test_a_plugged_in_kind_is_created_fed_and_asked_like_any_other():
    engine = engine_with()
    created = engine.run([create_total(params={"factor": 2})], DATA)["c-u"]
    assert (created["status"], created["kind"]) == ("ok", "total@1")
    assert created["params"] == {"factor": 2.0}
    answer = estimate(engine)
    assert (answer["value"], answer["tuples"]) == (2 * SUM, len(DATA))


@pytest.mark.parametrize("source", [TOTAL, touchy("raises").replace('"raises"', '"total"')])
def test_shards_streams_and_windows_work_for_both_forms(source):
    engine = engine_with(source=source)
    window = {"type": "tumbling", "size": "2s", "time": "t", "keep": "1m"}
    engine.run(
        [
            create_total("all"),
            create_total("each", scope="stream"),
            create_total("windowed", window=window),
        ],
        DATA,
    )
    engine.settle()
    assert estimate(engine, "all")["value"] == SUM
    mine = [r["values"]["v"] for r in DATA if r["stream"] == "s3"]
    assert estimate(engine, "each", stream="s3")["value"] == sum(mine)
    second = [r["values"]["v"] for r in DATA if 2_000 <= r["values"]["t"] - T0 < 4_000]
    closed = estimate(engine, "windowed", end=T0 + 4_000)
    assert (closed["value"], closed["tuples"]) == (sum(second), len(second))


def test_rows_that_were_deleted_are_taken_away_from_a_linear_plug_in():
    engine = engine_with()
    engine.run([create_total(), create_total("each", scope="stream")])
    source = {"topic": "t", "dataset": "d", "stream": "s", "changes": "debezium"}
    engine.ask(op="source", id="s", name="rows", **source)
    rows = [{"s": f"s{n % 3}", "v": n} for n in range(30)]
    engine.send_records("rows", [{"op": "c", "after": row} for row in rows])
    engine.send_records("rows", [{"op": "d", "before": row} for row in rows[:9]])
    answer = estimate(engine)
    assert (answer["value"], answer["tuples"]) == (sum(range(9, 30)), 39)
    assert estimate(engine, "each", stream="s0")["value"] == sum(range(9, 30, 3))


def test_parameters_and_queries_of_a_plug_in_are_checked():
    engine = engine_with()
    refused = engine.run([create_total(params={"factor": -1})])["c-u"]
    assert (refused["code"], refused["field"]) == ("bad_parameter", "params.factor")
    engine.run([create_total("v")])
    assert estimate(engine, "v", query={"type": "median"})["code"] == "bad_query"
    assert engine.ask(op="plugins")["value"][0]["state"] == "active"


def test_a_watch_on_a_plug_in_answers():
    engine = engine_with()
    engine.run([create_total()])
    watch = {"id": "w", "op": "watch", "uid": "u", "query": {}, "on": "change"}
    engine.run([watch], DATA)
    answers = [reply for reply in engine.settle() if reply["request"] == "w"]
    assert answers[-1]["value"] == SUM


def test_states_leave_and_come_back():
    engine = engine_with()
    engine.run([create_total(), create_total("copy")], DATA)
    state = engine.ask(op="export", uid="u")["value"]
    assert engine.ask(op="import", uid="copy", state=state, mode="replace")["status"] == "ok"
    assert estimate(engine, "copy")["value"] == SUM
    spoilt = base64.b64encode(base64.b64decode(state)[:-3]).decode()
    assert engine.ask(op="import", id="i2", uid="copy", state=spoilt)["code"] == "bad_state"


def test_a_snapshot_is_restored_under_another_uid(tmp_path):
    engine = engine_with(snapshots=tmp_path)
    engine.run([create_total()], DATA)
    assert engine.ask(op="snapshot", id="s", uid="u")["value"] == "1"
    restored = engine.ask(op="restore", id="r", uid="u", **{"as": "again"})
    assert restored["status"] == "ok", restored
    assert estimate(engine, "again")["value"] == SUM


def test_a_plug_in_that_is_used_cannot_be_unplugged():
    engine = engine_with()
    engine.run([create_total()])
    refused = engine.ask(op="unplug", id="x1", name="total")
    assert refused["code"] == "in_use"
    assert "'u'" in refused["message"]
    engine.ask(op="delete", id="x2", uid="u")
    assert engine.ask(op="unplug", id="x3", name="total")["value"] == ["total@1"]
    assert engine.ask(op="plugins", id="x4")["value"] == []
    assert engine.ask(op="unplug", id="x5", name="total")["code"] == "unknown_plugin"


def test_a_new_version_is_a_new_kind_and_running_synopses_keep_theirs():
    engine = engine_with()
    engine.run([create_total("old")], DATA)
    doubled = TOTAL.replace("* self.factor", "* 2 * self.factor")
    engine.run([plugin_request("total", doubled, id="p2")])
    (reply,) = engine.settle()
    assert reply["value"]["version"] == 2
    engine.run([create_total("new"), create_total("pinned", kind="total@1")], DATA)
    assert estimate(engine, "new")["value"] == 2 * SUM
    assert estimate(engine, "pinned")["value"] == SUM
    assert estimate(engine, "old")["value"] == 2 * SUM  # twice the data
    again = engine.run([create_total("old") | {"id": "again"}])["again"]
    assert (again["status"], again["kind"]) == ("ok", "total@1")
    export = base64.b64decode(engine.ask(op="export", uid="new")["value"])
    assert b"total@2" in export
    engine.ask(op="unplug", id="gone", name="total", version=2)
    assert len(engine.ask(op="plugins", id="left")["value"]) == 2  # in use


def test_the_same_source_again_is_the_version_that_is_there():
    engine = engine_with()
    reply = engine.run([plugin_request("total", TOTAL, id="again")])["again"]
    assert (reply["status"], reply["value"]["version"]) == ("ok", 1)


@pytest.mark.laws
def test_a_class_that_breaks_a_law_is_refused_with_the_law_and_the_reason():
    wrong = TOTAL.replace("linear = True", "linear = True\n    idempotent = True")
    engine = LocalEngine(limits=LIMITS)
    engine.run([plugin_request("total", wrong)])
    (reply,) = engine.settle()
    assert reply["code"] == "broken_law"
    assert "adding_twice_is_adding_once" in reply["message"]
    assert engine.ask(op="plugins")["value"] == []
    assert engine.run([create_total()])["c-u"]["code"] == "unknown_kind"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = 1", "expected one public class"),
        ("import no_such_module", "no_such_module"),
        ("def", "SyntaxError"),
        ("while True: pass", "took more than"),
        (TOTAL.replace('kind = "total"', 'kind = "sum"'), "expected 'total'"),
        (TOTAL.replace('{"values"}', '{"streams"}'), "Total.reads has 'streams': expected some of"),
        (
            TOTAL.replace("def total(self)", "def total(self, least=0)"),
            "question total: argument least: expected a type of int, float",
        ),
        (TOTAL.replace("factor: float = ", "factor = "), "parameter factor: expected a type"),
        ("from synopses import QueryError\nraise QueryError('q', 1, 'two')", "expected two"),
    ],
)
def test_source_that_is_no_plug_in_is_refused(source, reason, monkeypatch):
    if "while True" in source:
        monkeypatch.setattr("sde.plugins.process._START_SECONDS", 5.0)
    engine = LocalEngine(limits=LIMITS)
    engine.run([plugin_request("total", source)])
    (reply,) = engine.settle()
    assert reply["code"] == "broken_law"
    assert reason in reply["message"]


def test_a_built_in_kind_cannot_be_replaced():
    engine = LocalEngine(limits=LIMITS)
    engine.run([plugin_request("count_min", TOTAL.replace('"total"', '"count_min"'))])
    (reply,) = engine.settle()
    assert "is a kind already" in reply["message"]


@pytest.mark.parametrize("way", WAYS)
def test_misbehaving_quarantines_the_plug_in_and_nothing_else(way):
    engine = engine_with(way, touchy(way), SOON if way == "loops" else LIMITS)
    engine.run([create_total("bad", kind=way), create("good")], DATA)
    assert estimate(engine, "bad")["value"] == SUM
    poison = tuples("d", [("s1", {"k": 3, "v": 77})])
    if way in ("silent", "crossed"):
        poison = tuples("d", [("s1", {"k": 3, "v": 77 - SUM})])
    asked = engine.run([{"id": "q", "op": "estimate", "uid": "bad", "query": {}}], poison)["q"]
    assert asked["code"] == "quarantined"
    engine.settle()
    engine.run([], DATA)
    described = engine.ask(op="describe", id="d", uid="bad")["value"]
    assert described["state"] == "quarantined"
    assert WAYS[way][3] in described["reason"]
    assert engine.run([create_total("other", kind=way)])["c-other"]["code"] == "quarantined"
    exact = CountMin()
    exact.add(Items.of([row["values"]["k"] for row in [*DATA, *poison, *DATA]]))
    assert (
        base64.b64decode(engine.ask(op="export", id="e", uid="good")["value"]) == exact.to_bytes()
    )


@pytest.mark.parametrize("way", ["exits", "raises"])
def test_a_replay_restores_states_and_quarantine_without_calling_the_plug_in(way, monkeypatch):
    engine = engine_with(way, touchy(way))
    engine.run([create_total("bad", kind=way), create("good")], DATA)
    engine.run([], tuples("d", [(f"s{i}", {"k": 3, "v": 77}) for i in range(20)]))
    engine.settle()
    engine.run([], DATA)
    calls, real = [], PluginProcess.call

    def noted(self, call, *rest, **options):
        calls.append(call.name)
        return real(self, call, *rest, **options)

    monkeypatch.setattr(PluginProcess, "call", noted)
    for number, entries in enumerate(engine.entries):
        again = open_shard(number, len(engine.stores), MemoryStore(), LIMITS)
        for entry in entries:
            replay(again, entry)
        running = engine.shard(number)
        assert again.registry.shelf.reasons == running.registry.shelf.reasons != {}
        for uid in ("bad", "good"):
            one, two = (list(s.kept(s.registry.instance(uid))) for s in (again, running))
            assert one == two or uid == "bad"
    assert set(calls) <= {"load", "add"}  # the data before it misbehaved


def test_every_shard_and_a_reopened_one_know_the_plug_in():
    engine = engine_with()
    engine.run([create_total()], DATA)
    for number in range(len(engine.stores)):
        shelf = engine.shard(number).registry.shelf
        assert shelf.told(shelf.versions["total@1"])["state"] == "active"
