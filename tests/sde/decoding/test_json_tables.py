"""JSON of any shape becomes tables: what is good goes on, the rest gets its reason."""

import json

import naive_decoding
import naive_json as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sde.decoding import Limits
from sde.decoding.json_tables import read_json
from sde.decoding.letters import Letters

LIMITS = Limits()


def read(*payloads, paths=None, limits=LIMITS, **how):
    """(the rows by message and place, the letters)"""
    messages = naive_decoding.messages(list(payloads))
    letters = Letters(messages, limits)
    wanted = None if paths is None else frozenset(paths)
    found = list(read_json(messages, np.arange(len(messages)), wanted, limits, letters, **how))
    return naive.tables(found), letters.sorted()


def rows_of(*payloads, **how):
    rows, letters = read(*payloads, **how)
    assert letters == []
    return list(rows.values())


def assert_equals_the_naive_way(payloads, paths=None, limits=LIMITS, **how):
    rows, letters = read(*payloads, paths=paths, limits=limits, **how)
    good, bad = naive.read(naive_decoding.messages(payloads), paths, limits, **how)
    assert rows == good
    assert naive_decoding.refused(letters) == bad


TRADE = {"symbol": "AAPL", "px": 190.1, "legs": [{"px": 1}, {"px": 2.5}], "trader": {"id": "t17"}}


def test_names_are_joined_by_points_and_elements_have_their_number():
    [row] = rows_of(json.dumps(TRADE).encode())
    assert row == {
        "symbol": "AAPL", "px": "190.1", "legs[0].px": "1", "legs[1].px": "2.5", "trader.id": "t17"
    }  # fmt: skip


def test_only_the_paths_that_are_asked_for_are_read():
    wanted = {"trader.id", "legs[1].px", "nobody"}
    [row] = rows_of(json.dumps(TRADE).encode(), paths=wanted)
    assert row == {"trader.id": "t17", "legs[1].px": "2.5"}


def test_a_name_with_a_point_is_the_same_path_as_nesting_and_the_last_one_holds():
    rows = [
        b'{"a.b": 1}',
        b'{"a": {"b": 1}}',
        b'{"a.b": 0, "a": {"b": 1}}',
        b'{"a": {"b": 0}, "a.b": 1}',
        b'{"a": {"b": 0}, "a": {"b": 1}}',
        b'{"a[0].b": 0, "a.b": 1}',
    ]
    for paths in (None, {"a.b"}):
        found = rows_of(*rows, paths=paths)
        assert [row["a.b"] for row in found] == ["1"] * 6
    assert rows_of(b'{"a":{"b":0},"a":{"c":1}}') == [{"a.c": "1"}]
    assert rows_of(b'{"a.b":{"c.d[0]":1}}', paths={"a.b.c.d[0]"}) == [{"a.b.c.d[0]": "1"}]


def test_every_element_becomes_a_row_with_the_fields_beside_the_array():
    order = {"id": 7, "items": [{"sku": "a", "n": 1}, {"sku": "b"}, 5, None], "to": {"city": "x"}}
    beside = {"id": "7", "to.city": "x"}
    assert rows_of(json.dumps(order).encode(), each="items") == [
        {**beside, "items.sku": "a", "items.n": "1"},
        {**beside, "items.sku": "b"},
        {**beside, "items": "5"},
        beside,
    ]
    paths = {"items.sku", "id"}
    assert rows_of(json.dumps(order).encode(), each="items", paths=paths)[1:3] == [
        {"id": "7", "items.sku": "b"},
        {"id": "7"},
    ]


@pytest.mark.parametrize("items", ['"items":[],', '"items":null,', ""])
def test_without_an_element_there_is_no_row(items):
    assert rows_of(f'{{{items}"id":7}}'.encode(), each="items") == []


def test_a_value_that_is_no_array_counts_as_an_array_of_one():
    assert rows_of(b'{"items":{"sku":"a"},"id":7}', each="items") == [{"items.sku": "a", "id": "7"}]


def test_of_an_array_every_element_is_a_record():
    message = b' [ {"a":1} , {"a":2},\n{"a":"],["}]\n'
    assert rows_of(message) == [{"a": "1"}, {"a": "2"}, {"a": "],["}]
    assert rows_of(b"[]", b" [ ] ") == []


def test_a_bad_element_is_refused_alone_and_an_array_that_is_not_closed_as_a_whole():
    rows, letters = read(b'[{"a":1},{"a":},7,{"a":2}]', b'[{"a":1},{"a":2}', b"[{},,{}]")
    assert list(rows) == [(0, 0), (0, 3)]
    assert [(letter["offset"], letter["line"]) for letter in letters] == [
        (1000, 1), (1000, 2), (1001, 0), (1002, 0)
    ]  # fmt: skip
    assert {letter["code"] for letter in letters} == {"bad_json"}


def test_a_message_is_one_record_or_one_a_line():
    message = b'{"a":\n1}'
    assert rows_of(message) == [{"a": "1"}]
    rows, letters = read(b'{"a":1}\n\n{"a":2}\nx', lines=True)
    assert rows == {(0, 0): {"a": "1"}, (0, 2): {"a": "2"}}
    assert naive_decoding.refused(letters) == {(1000, 3): "bad_json"}
    assert len(read(b'{"a":1}\n{"a":2}')[1]) == 1


def test_rows_of_a_message_have_different_places_however_lines_were_expanded():
    rows, _ = read(b'[{"a":1},{"a":2}]\n{"a":3}\n[]\n[{"a":4}]\n', lines=True)
    assert list(rows) == [(0, 0), (0, 1), (0, 2), (0, 4)]
    lines = b'{"i":[1,2]}\n{"i":[]}\n{"i":[3]}\n{"i":x}\n{"i":[4]}'
    rows, letters = read(lines, each="i", lines=True)
    assert list(rows) == [(0, 0), (0, 1), (0, 3), (0, 5)]
    assert naive_decoding.refused(letters) == {(1000, 3): "bad_json"}


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"\xfe", "bad_encoding"),
        (b'{"a":"\xff"}', "bad_encoding"),
        (b'{"b":"\xff"}', "bad_encoding"),
        (b"{", "bad_json"),
        (b"7", "bad_json"),
        (b'"text"', "bad_json"),
        (b'{"b":[1,]}', "bad_json"),
        (b'{"b":{"c":"\\ud800"}}', "bad_json"),
        (b'{"b":1e999}', "bad_json"),
        (b'{"b":' + b"[" * 32 + b"]" * 32 + b"}", "bad_json"),
        (b'{"b":"' + b"x" * (1 << 20) + b'"}', "too_large"),
    ],
)
def test_what_cannot_be_read_gets_its_reason_also_where_nobody_reads_it(payload, code):
    for paths in (None, {"a"}):
        rows, [letter] = read(b'{"a":1}', payload, b'{"a":2}', paths=paths)
        assert letter["code"] == code
        assert list(rows) == [(0, 0), (2, 0)]


def test_records_are_not_read_one_by_one(monkeypatch):
    monkeypatch.setattr("sde.decoding.json_tables.read_record", None)
    records = [
        TRADE,
        {
            "trader": {"id": "Z\u00fcrich\n"},
            "px": None,
            "legs": [],
            "symbol": True,
            "a.b": {"c": 1},
        },
        {"a": {"b": {"c": 2}}, "legs": [[1, [2]], 3], "x": {}},
    ]
    payloads = [json.dumps(record, indent=1).encode() for record in records]
    payloads.append(json.dumps(records).encode())
    for paths in (None, {"symbol", "trader.id", "legs[1].px", "legs[0][1][0]", "a.b.c"}):
        for each in (None, "legs"):
            wanted = None if paths is None else frozenset(paths)
            assert_equals_the_naive_way(payloads, wanted, each=each)


def test_the_values_of_one_shape_may_be_of_any_type():
    values = [1, 2.5, "x", "\u00e9\n", None, True, False, 2**63, 1e300, 0.1 + 0.2]
    records = [{"a": {"b": a}, "c": [b, {"d": a}]} for a in values for b in values]
    payloads = [json.dumps(record).encode() for record in records]
    for paths in (None, frozenset({"a.b", "c[1].d"}), frozenset({"c[0]"})):
        assert_equals_the_naive_way(payloads, paths)


def test_a_record_with_more_elements_than_there_was_room_for_is_read():
    order = {"id": 7, "items": [{"n": i, "t": "\u00e9" * (i % 7)} for i in range(5000)], "z": 1}
    payload = json.dumps(order).encode()
    for paths in (None, frozenset({"id", "items.n", "z"})):
        assert_equals_the_naive_way([payload, b'{"items":[1]}', payload], paths, each="items")


def test_as_deep_as_is_allowed_is_read():
    payload = b'{"b":' + b"[" * 31 + b"1" + b"]" * 31 + b"}"
    assert rows_of(payload) == [{"b" + "[0]" * 31: "1"}]


def test_values_without_end_are_refused_if_all_are_read_and_passed_over_if_some_are():
    payload = json.dumps({f"f{i}": i for i in range(1001)}).encode()
    assert read(payload)[1][0]["code"] == "too_large"
    assert rows_of(payload, paths={"f7"}) == [{"f7": "7"}]
    long = json.dumps({"n" * 513: 1, "a": 1}).encode()
    assert read(long)[1][0]["code"] == "too_large"
    assert rows_of(long, paths={"a"}) == [{"a": "1"}]


def test_of_an_array_the_first_sixteen_elements_are_read_if_no_paths_are_asked_for():
    payload = json.dumps({"a": list(range(20))}).encode()
    assert rows_of(payload) == [{f"a[{i}]": str(i) for i in range(16)}]
    assert rows_of(payload, paths={"a[19]", "a[20]"}) == [{"a[19]": "19"}]


def test_many_elements_with_many_fields_beside_them_are_refused():
    beside = {f"f{i}": i for i in range(999)}
    payload = json.dumps({**beside, "i": [0] * 1100}).encode()
    assert read(payload, each="i")[1][0]["code"] == "too_large"
    assert len(rows_of(payload, each="i", paths={"f7"})) == 1100


def test_records_with_ever_new_names_are_cut_into_more_tables_and_none_is_lost():
    payloads = [json.dumps({f"f{i}": i, "x": {f"g{i}": i}}).encode() for i in range(60)]
    limits = Limits(max_fields=10)
    messages = naive_decoding.messages(payloads)
    letters = Letters(messages, limits)
    found = list(read_json(messages, np.arange(60), None, limits, letters))
    assert len(found) > 3
    assert max(len(table.columns) for table in found) <= 15
    assert_equals_the_naive_way(payloads, limits=limits)


def test_only_the_messages_that_are_named_are_read():
    messages = naive_decoding.messages([b'{"a":1}', b"x", b"", b'{"a":2}'])
    letters = Letters(messages, LIMITS)
    some = np.array([2, 3])
    assert naive.tables(read_json(messages, some, None, LIMITS, letters)) == {(3, 0): {"a": "2"}}
    assert list(read_json(messages, some[:0], None, LIMITS, letters)) == []
    assert letters.sorted() == []


NAMES = st.sampled_from(["a", "b", "c", "a.b", "b[0]", "", ".", "[0]", "é", "items", "time"])
SCALARS = st.one_of(
    st.integers(-5, 5), st.integers(-(2**70), 2**70), st.booleans(), st.none(),
    st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8),
    st.sampled_from(["12", 12.0, 0.1, 1e300, 2**53 + 1, "x" * 20]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
RECORDS = st.dictionaries(NAMES, VALUES, max_size=5)


@st.composite
def written(draw, values=RECORDS):
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")]))
    indent = draw(st.sampled_from([None, None, 1]))
    ascii_only = draw(st.booleans())
    text = json.dumps(
        draw(values), ensure_ascii=ascii_only, separators=separators, indent=indent
    ).encode("utf-8", "surrogatepass")
    if draw(st.booleans()) and draw(st.booleans()):
        at = draw(st.integers(0, len(text)))
        part = draw(st.sampled_from([b"", b'"', b"{", b"]", b",", b"\\", b"1", b"\n", b"\xff"]))
        text = text[:at] + part + text[at + draw(st.integers(0, 2)) :]
    return text


PATHS = st.one_of(
    st.none(),
    st.frozensets(
        st.sampled_from(
            ["a", "b", "a.b", "a.b.c", "b[0]", "b[1].a", "c", "é", "", "..", "items.a", "items",
             "a[0]", "a[0][1]", "[0]", "time"]
        ),
        max_size=5,
    ),
)  # fmt: skip
EACH = st.sampled_from([None, None, "items", "a", "a.b", "b[0]"])
PAYLOADS = st.one_of(
    written(),
    written(st.lists(RECORDS, max_size=4)),
    st.lists(written(), max_size=4).map(b"\n".join),
    st.binary(max_size=20),
)


@given(st.lists(PAYLOADS, max_size=8), PATHS, EACH, st.booleans())
def test_any_messages_become_what_reading_their_records_one_by_one_gives(
    payloads, paths, each, lines
):
    assert_equals_the_naive_way(payloads, paths, each=each, lines=lines)
