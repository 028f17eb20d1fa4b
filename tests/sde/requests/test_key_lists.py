"""Keys that several fields make: counted against Python, asked by a list of values."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_messages import create, tuples

from sde.testing import LocalEngine
from synopses import QueryError, Texts
from synopses.hashing import hash_key, hash_texts, key_text, list_texts

ROWS = [
    (f"s{n % 4}", {"venue": "XYZ"[n % 3], "trader": n % 5, "px": n / 8, "side": n % 2 == 0})
    for n in range(300)
]
BOTH = ["venue", "trader"]


def running(*creates):
    engine = LocalEngine()
    for reply in engine.run(creates).values():
        assert reply["status"] == "ok", reply
    engine.send("d", ROWS)
    return engine


def asked(engine, **fields):
    return engine.ask(op="estimate", **fields)


@given(st.lists(st.tuples(st.text(max_size=6), st.text(max_size=6)), max_size=10))
def test_the_text_of_a_key_of_several_fields_is_their_json_array(pairs):
    columns = [Texts.of(column) for column in zip(*pairs, strict=True)] or [Texts.of([])] * 2
    found = list_texts(columns)
    expected = [json.dumps(p, ensure_ascii=False, separators=(",", ":")) for p in pairs]
    assert list(found) == expected == [key_text(list(pair)) for pair in pairs]
    assert hash_texts(found).tolist() == [hash_key(list(pair))[0].tolist() for pair in pairs]


def test_every_control_character_is_written_as_json_writes_it():
    every = "".join(map(chr, range(128))) + "é€😀"
    assert list(list_texts([Texts.of([every])])) == [
        json.dumps([every], ensure_ascii=False, separators=(",", ":"))
    ]


def test_different_values_make_different_keys_wherever_they_are_cut():
    parts = ["", "a", ",", '"', "\\", '","', "[", '"a', 'a"', "\\\\"]
    texts = {key_text([a, b]) for a, b in itertools.product(parts, repeat=2)}
    assert len(texts) == len(parts) ** 2


def test_each_combination_is_counted_by_itself():
    engine = running(create("u", key=BOTH))
    for venue, trader in itertools.product("XYZ", range(5)):
        expected = sum(v["venue"] == venue and v["trader"] == trader for _, v in ROWS)
        for key in ([venue, trader], [venue, str(trader)], key_text([venue, trader])):
            assert asked(engine, uid="u", query={"key": key})["value"] == expected


def test_distinct_combinations_are_counted_and_frequent_ones_named():
    engine = running(create("d", "hyperloglog", BOTH), create("f", "frequent_items", BOTH))
    assert round(asked(engine, uid="d")["value"]) == 15
    found = asked(engine, uid="f", query={"type": "heavy_hitters", "share": 0.01})["value"]
    assert {row["key"] for row in found} == {
        key_text([venue, trader]) for venue, trader in itertools.product("XYZ", range(5))
    }


def test_true_and_decimals_have_the_text_that_single_keys_have():
    engine = running(create("u", key=["side", "px"]))
    assert asked(engine, uid="u", query={"key": [True, 0.25]})["value"] == 1
    assert asked(engine, uid="u", query={"key": [True, 3.0]})["value"] == 1
    assert asked(engine, uid="u", query={"key": [False, 3]})["value"] == 0


def test_a_tuple_without_one_of_the_fields_is_skipped_and_all_are_named():
    engine = LocalEngine()
    engine.run([create("u", key=["venue", "desk"])])
    engine.send("d", [("s", {"venue": "X"}), ("s", {"desk": 1, "venue": "X"}), ("s", {"desk": 1})])
    answer = asked(engine, uid="u", query={"key": ["X", 1]})
    assert (answer["value"], answer["tuples"]) == (1, 1)
    (warning,) = answer["warnings"]
    assert warning.startswith("one of the fields 'venue', 'desk' was missing in 2 of 3 tuples")


def test_describe_shows_the_fields_and_a_list_of_one_is_that_field():
    engine = running(create("u", key=BOTH), create("v", key=["venue"]))
    assert engine.ask(op="describe", uid="u")["value"]["key"] == BOTH
    assert engine.ask(op="describe", uid="v")["value"]["key"] == "venue"
    assert asked(engine, uid="v", query={"key": "X"})["value"] == 100


@pytest.mark.parametrize("key", ["X", ["X"], ["X", 1, 2], '["X"]', '["X", "1"]', "[[]]", 5, "[1"])
def test_a_key_that_no_tuple_can_have_is_refused(key):
    refused = asked(running(create("u", key=BOTH)), uid="u", query={"key": key})
    assert (refused["code"], refused["field"]) == ("bad_query", "query.key")
    assert "expected a list of 2 values, of the fields venue, trader" in refused["message"]


def test_a_list_is_refused_where_one_field_is_the_key():
    refused = asked(running(create("u", key="venue")), uid="u", query={"key": ["X", 1]})
    assert refused["message"].endswith("expected one value, of the field venue")


def test_a_list_in_a_list_is_refused():
    refused = asked(running(create("u", key=BOTH)), uid="u", query={"key": [["X"], 1]})
    assert refused["code"] == "bad_query"
    with pytest.raises(QueryError, match="or a list of these"):
        key_text([])


@pytest.mark.parametrize("key", [[], ["k"] * 9, [5], [""]])
def test_a_list_of_fields_has_one_to_eight_names(key):
    refused = LocalEngine().ask(**create("u", key=key))
    assert (refused["code"], refused["field"]) == ("bad_request", "key")
    assert "a field name or a list of 1 to 8 field names" in refused["message"]


def test_orders_of_fields_are_different_keys_and_different_synopses():
    engine = running(create("u", key=BOTH))
    other = engine.ask(**{**create("u", key=BOTH[::-1]), "id": "again"})
    assert other["code"] == "synopsis_exists"
    assert engine.ask(**{**create("u", key=BOTH), "id": "same"})["status"] == "ok"


def test_a_watch_for_each_key_names_combinations():
    engine = LocalEngine()
    engine.run([create("u", key=BOTH)])
    engine.ask(op="watch", id="w", uid="u", on="change", each="key")
    found = [*engine.replies(data=tuples("d", ROWS[:2])), *engine.settle()]
    answers = {reply["key"]: reply["value"] for reply in found if reply["op"] == "watch"}
    assert answers == {'["X","0"]': 1, '["Y","1"]': 1}
