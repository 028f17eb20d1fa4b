"""Thousands of synopses that differ in their stream: what they share is worked out once."""

import dataclasses

import orjson
import pytest

from sde.limits import StateLimits
from sde.records.result import Done
from sde.registry.definitions import for_stream, record_of, signature_of
from sde.registry.registry import Registry
from sde.wire import Definition, Refusal
from sde.wire.windows import Window
from synopses import CountMin

FULL = Definition(
    dataset="d",
    kind="count_min",
    params={"epsilon": 0.5},
    key="k",
    values=("v", "w"),
    scope="stream",
    stream="s",
    window=Window("tumbling", 1000, 1000, time="t"),
    time="at",
    idle=5000,
    where="x > 1",
)


def named(uid, stream, params=None, **fields):
    definition = Definition("d", "count_min", params or {}, "k", scope="stream", stream=stream)
    return {"uid": uid, "wanted": definition, **fields}


@pytest.fixture
def registry():
    return Registry(StateLimits())


def test_the_same_for_another_stream_has_every_other_field():
    assert all(getattr(FULL, f.name) != f.default for f in dataclasses.fields(Definition))
    assert for_stream(FULL, "t") == dataclasses.replace(FULL, stream="t")


def test_a_definition_comes_back_from_its_record():
    several = Definition("d", "count_min", key=("k", "l"))
    for definition in (FULL, several, Definition("d", "count_min")):
        record = orjson.loads(orjson.dumps(record_of(definition)))
        assert Definition.from_record(record) == definition


def test_without_a_condition_the_record_is_that_of_earlier_versions():
    assert "where" not in record_of(Definition("d", "count_min", key="k"))
    assert record_of(FULL)["where"] == "x > 1"


def test_layers_of_earlier_versions_keep_their_names(registry):
    plain, _ = registry.create(**named("a", "s"), since=0)
    assert plain.layer.endswith('"d","k",[],null,"",0]')


@pytest.mark.parametrize("changed", [{"where": "x > 1"}, {"key": ("k", "l")}])
def test_definitions_that_differ_in_where_or_keys_share_neither_layer_nor_pattern(
    registry, changed
):
    one, _ = registry.create(**named("a", "s"), since=0)
    wanted = dataclasses.replace(one.definition, **changed)
    other, new = registry.create("b", wanted, 0, reuse=True)
    assert new
    assert other.layer != one.layer
    assert other.pattern is not one.pattern
    assert other.bank == one.bank


def test_conditions_that_are_written_differently_are_one(registry):
    wanted = named("a", "s")["wanted"]
    one, _ = registry.create("a", dataclasses.replace(wanted, where="x>1"), 0)
    same, new = registry.create("b", dataclasses.replace(wanted, where="(x > 1)"), 0, reuse=True)
    assert (same, new) == (one, False)
    assert one.definition.where == "x > 1"


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(Definition)])
def test_definitions_share_a_pattern_if_they_differ_in_their_stream_alone(field):
    other = dataclasses.replace(FULL, **{field: "other"})
    assert (signature_of(other) == signature_of(FULL)) == (field == "stream")
    assert signature_of(for_stream(FULL, None)) != signature_of(FULL)


def test_a_burst_of_creates_makes_few_synopses_to_look_at(registry, monkeypatch):
    made = []
    prepare = CountMin._prepare
    monkeypatch.setattr(CountMin, "_prepare", lambda self: made.append(1) or prepare(self))
    for n in range(100):
        registry.create(**named(f"u{n}", f"s{n}"), since=n)
    assert len(made) <= 2


def test_what_equals_an_accepted_number_may_still_be_refused(registry):
    registry.create(**named("a", "s", {"seed": 1}), since=0)
    with pytest.raises(Refusal, match="seed=True"):
        registry.create(**named("b", "t", {"seed": True}), since=0)
    instance, _ = registry.create(**named("c", "t", {"seed": 1.0}), since=0)
    assert instance.definition.params["seed"] == 1


def test_each_instance_has_the_definition_that_was_asked_for(registry):
    for n in range(3):
        instance, _ = registry.create(**named(f"u{n}", f"s{n}", {"seed": 4}), since=n)
        assert (instance.definition.stream, instance.since) == (f"s{n}", n)
        assert instance.definition == dataclasses.replace(
            registry.instance("u0").definition, stream=f"s{n}"
        )


def test_a_level_that_is_free_again_is_taken_again_and_reuse_finds_the_oldest(registry):
    levels = [registry.create(**named(uid, "s"), since=0)[0].level for uid in "abc"]
    registry.delete("a")
    assert registry.create(**named("d", "s", reuse=True), since=0)[0] is registry.instance("b")
    levels += [registry.create(**named(uid, "s"), since=0)[0].level for uid in "ef"]
    assert levels == [0, 1, 2, 0, 3]


def test_a_layer_comes_with_its_first_instance_and_goes_with_its_last(registry):
    def changes():
        came, went = registry.take_changes()
        return [i.layer for i in came], [i.layer for i in went]

    layer = registry.create(**named("a", "s"), since=0)[0].layer
    registry.create(**named("b", "t"), since=0)
    assert changes() == ([layer], [])
    registry.delete("a")
    assert changes() == ([], [])
    registry.delete("b")
    registry.create(**named("c", "s"), since=0)
    assert changes() == ([layer], [layer])
    registry.create(**named("other", "s", {"seed": 1}), since=0)
    registry.delete("other")
    assert changes() == ([], [])


def test_what_is_promised_goes_with_who_was_promised_it(registry):
    registry.create(**named("a", "s"), since=0)
    one = registry.promised("d")
    registry.create(**named("b", "t"), since=0)
    registry.create("c", Definition("e", "count_min", key="k"), 0)
    assert (one, registry.promised("d"), registry.promised()) == (
        CountMin().memory,
        2 * one,
        3 * one,
    )
    for uid in "abc":
        registry.delete(uid)
    assert registry.promised() == registry.promised("d") == 0
    assert list(registry._patterns) == []


def test_banks_and_layers_keep_the_names_that_stores_know_them_by(registry):
    window = Window("tumbling", 1000, 1000)
    definition = Definition("d", "moments", {}, "", ("v",), "stream", "s", window)
    instance, _ = registry.create("a", definition, 0)
    whole, _ = registry.create("b", Definition("d", "count_min", key="k"), 0)
    assert whole.bank == 'count_min {"decimals":3,"delta":0.01,"epsilon":0.01,"seed":9001}'
    assert whole.layer == "1"
    assert orjson.loads(instance.layer) == [
        instance.bank,
        "d",
        "",
        ["v"],
        dataclasses.asdict(window),
        "",
        0,
    ]


OLD = """
["keep",0,{"dataset":"d","kind":"count_min","params":{"epsilon":0.01,"delta":0.01,"decimals":3,\
"seed":9001},"key":"k","values":[],"scope":"stream","stream":"s","window":null,"time":"",\
"idle":null},5,0]
["attach","a",0,null]
["outcome","r-a",{"ok":{"uid":"a"}}]
["keep",1,{"dataset":"d","kind":"count_min","params":{"epsilon":0.01,"delta":0.01,"decimals":3,\
"seed":9001},"key":"k","values":[],"scope":"stream","stream":"t","window":null,"time":"",\
"idle":null},6,0]
["attach","b",1,900]
["attach","c",1,null]
["keep",2,{"dataset":"d","kind":"count_min","params":{"epsilon":0.01,"delta":0.01,"decimals":3,\
"seed":9001},"key":"k","values":[],"scope":"stream","stream":"t","window":null,"time":"",\
"idle":null},7,1]
["attach","d",2,null]
"""


def test_facts_of_earlier_versions_are_read(registry):
    old = Registry(StateLimits())
    for line in OLD.replace("\\\n", "").split():
        old.apply(orjson.loads(line))
    registry.create(**named("a", "s"), since=5)
    registry.remember("r-a", {"ok": {"uid": "a"}})
    registry.create(**named("b", "t", lifetime=894), since=6)
    registry.create(**named("c", "t", reuse=True), since=6)
    registry.create(**named("d", "t"), since=7)
    assert list(old.facts()) == list(registry.facts())
    assert old.outcome("r-a") == Done(uid="a")
