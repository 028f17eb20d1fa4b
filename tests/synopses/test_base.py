"""What all kinds share: hashes of keys, items, parameters, questions, bytes."""

import contextlib
import json
import struct
import tracemalloc
import zlib

import mmh3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synopses import (
    KINDS,
    CountMin,
    HyperLogLog,
    Items,
    ParameterError,
    QueryError,
    StateError,
    Texts,
    from_bytes,
)
from synopses.hashing import hash_key, hash_numbers, hash_texts, key_text, number_texts
from synopses.state import pack, unpack

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@given(st.lists(TEXT, max_size=20))
def test_the_kernel_hash_is_mmh3(texts):
    expected = [mmh3.hash64(t.encode(), seed=9001, signed=False) for t in texts]
    assert [tuple(pair) for pair in hash_texts(Texts.of(texts)).tolist()] == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_a_column_of_whole_numbers_hashes_like_their_texts(numbers):
    column = np.array(numbers, np.int64)
    assert list(number_texts(column)) == [key_text(n) for n in numbers]
    for number, pair in zip(numbers, hash_numbers(column), strict=True):
        assert (hash_key(number)[0] == pair).all()


@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False)
        | st.decimals(-9999, 9999, places=4).map(float),
        max_size=20,
    )
)
def test_a_column_of_numbers_hashes_like_their_texts(numbers):
    assert list(number_texts(np.array(numbers, np.float64))) == [key_text(n) for n in numbers]


@pytest.mark.parametrize("key", [None, [[1]], {}, float("nan"), float("inf"), 10**100])
def test_what_cannot_be_a_key_is_refused(key):
    with pytest.raises(QueryError, match="key"):
        hash_key(key)


@given(st.lists(TEXT, min_size=1, max_size=10), st.data())
def test_taking_items_keeps_columns_together(texts, data):
    items = Items.of(texts, values=np.arange(len(texts)), times=np.arange(len(texts)) * 7)
    chosen = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=8))
    taken = items.take(np.array(chosen, np.int64))
    assert list(taken.texts) == [texts[i] for i in chosen]
    assert taken.values.tolist() == chosen
    assert taken.times.tolist() == [7 * i for i in chosen]
    assert (taken.keys == items.keys[np.array(chosen, np.int64)]).all()
    assert len(taken) == len(chosen)


@given(
    st.dictionaries(TEXT, st.recursive(st.none() | st.booleans() | st.floats() | TEXT, st.lists))
)
def test_any_parameters_are_taken_or_refused_by_name(params):
    if any(name not in CountMin.parameters for name in params):
        with pytest.raises(ParameterError) as refused:
            CountMin(**params)
        assert refused.value.name in params


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | TEXT, st.lists), TEXT)
def test_any_query_is_answered_or_refused_by_name(value, name):
    sketch = CountMin.example()
    for query in ({"type": value}, {name: value}, {"type": "frequency", "key": value}):
        with contextlib.suppress(QueryError):
            assert sketch.estimate(query).value == 0


@given(st.binary(max_size=200))
def test_no_bytes_but_a_state_are_read(data):
    with pytest.raises(StateError):
        from_bytes(data)
    with pytest.raises(StateError):
        from_bytes(b"SYNO" + data)


def test_headers_that_lie_about_lengths_are_refused():
    data = bytearray(CountMin.example().to_bytes())
    for at, form, lie in ((7, "<I", 2**32 - 1), (11, "<Q", 2**63), (6, "<B", 255)):
        lying = bytearray(data)
        struct.pack_into(form, lying, at, lie)
        struct.pack_into("<I", lying, len(lying) - 4, zlib.crc32(lying[:-4]))
        with pytest.raises(StateError, match="promises"):
            from_bytes(bytes(lying))


@pytest.mark.parametrize("described", [b"[]", b"nul", b"\xff", b"[" * 10_000, b'{"lg_k":1e999}'])
def test_parameters_that_are_no_object_are_refused(described):
    head = struct.pack("<4sHBIQ", b"SYNO", 1, 11, len(described), 0)
    body = head + b"hyperloglog" + described
    with pytest.raises(StateError):
        from_bytes(body + struct.pack("<I", zlib.crc32(body)))


def test_a_header_that_asks_for_much_memory_gets_none():
    data = pack("hyperloglog", 1, {"lg_k": 21}, b"x" * 100)
    tracemalloc.start()
    try:
        with pytest.raises(StateError, match="100 bytes, expected 2097152"):
            from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < 2**19
    finally:
        tracemalloc.stop()


def test_other_formats_and_kinds_are_refused():
    state = unpack(HyperLogLog.example().to_bytes())
    with pytest.raises(StateError, match="format 2"):
        from_bytes(pack("hyperloglog", 2, state.params, bytes(state.payload)))
    with pytest.raises(StateError, match="'unheard_of'"):
        from_bytes(pack("unheard_of", 1, {}, b""))


@pytest.mark.parametrize("cls", KINDS.values(), ids=KINDS.keys())
def test_declarations_are_plain_json(cls):
    declared = [p.declaration() for p in cls.parameters.values()]
    asked = [q.declaration() for q in cls.questions.values()]
    assert json.loads(json.dumps([declared, asked])) == [declared, asked]


def test_questions_check_the_number_of_synopses():
    one, two = CountMin.example(), CountMin.example()
    with pytest.raises(QueryError, match="uids=1: expected two synopses"):
        one.estimate({"type": "inner_product"})
    with pytest.raises(QueryError, match="uids=2: expected one synopsis"):
        one.estimate({"type": "total"}, two)
