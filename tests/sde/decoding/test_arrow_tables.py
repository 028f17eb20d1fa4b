"""Arrow frames of any schema: paths into structs and lists; damaged frames harm nothing beside."""

import datetime as dt

import pyarrow as pa
import pytest
from reading_tables import Read, flat

from bench.fuzzing.frames import Frames, frame
from sde.decoding import Limits
from sde.decoding.arrow_tables import read_arrow

RECORDS = [
    {"id": "a", "n": 1, "at": {"x": 1.5, "deep": {"y": "p"}}, "legs": [{"p": 1}, {"p": 2}]},
    {"id": None, "n": None, "at": None, "legs": None},
    {"id": "b", "n": 2**60, "at": {"x": float("nan"), "deep": None}, "legs": []},
    {"id": "", "n": -1, "at": {"x": 0.0, "deep": {"y": ""}}, "legs": [{"p": 3}, None, {"p": None}]},
]


def framed(records):
    return frame(pa.Table.from_pylist(records))


def read(payloads, paths=None, **how):
    return Read(read_arrow, payloads, paths, **how)


def test_structs_and_lists_become_paths():
    found = read([framed(RECORDS), framed(RECORDS[::-1])])
    assert found.letters == []
    assert found.rows == [flat(record) for record in RECORDS + RECORDS[::-1]]
    assert found.places == [(i, line) for i in range(2) for line in range(4)]
    assert len(found.tables) == 1


def test_only_the_paths_that_are_read_become_columns():
    paths = frozenset({"at.deep.y", "legs[1].p", "legs[2].p", "n.x", "legs"})
    found = read([framed(RECORDS)], paths)
    whole = [flat(record) for record in RECORDS]
    assert found.rows == [{p: t for p, t in row.items() if p in paths} for row in whole]
    assert [len(row) for row in read([framed(RECORDS)], frozenset()).rows] == [0] * 4


def test_slices_of_nested_columns_are_read_from_their_place():
    table = pa.Table.from_pylist(RECORDS * 3).slice(5, 3)
    found = read([frame(table)])
    assert found.rows == [flat(record) for record in table.to_pylist()]


def test_a_column_that_cannot_be_read_refuses_the_frame_if_it_is_asked_for():
    table = pa.table({"raw": [b"x"], "v": [1], "t": [dt.time(1)]})
    assert read([frame(table)]).rows == [{"v": "1"}]
    assert read([frame(table)], frozenset({"v"})).rows == [{"v": "1"}]
    found = read([frame(table), framed(RECORDS)], frozenset({"raw"}))
    assert found.refused == [(0, "bad_frame")]
    assert found.letters[0]["field"] == "raw"
    assert len(found.rows) == len(RECORDS)


def test_frames_beyond_the_limits_are_refused():
    many = pa.table({"legs": [list(range(50))]})
    named = pa.table({"x" * 30: [1]})
    twice = pa.table({"a.b": [1], "a": [{"b": 2}]})
    codes = pa.DictionaryArray.from_arrays(pa.array([0] * 30_000), ["x" * 10_000])
    wide = pa.table({"a": pa.StructArray.from_arrays([codes], ["coded"])})
    payloads = [frame(table) for table in (many, named, twice, wide)]
    found = read(payloads, limits=Limits(max_fields=40, max_name=20))
    assert [code for _, code in found.refused] == [
        "too_large",
        "too_large",
        "bad_frame",
        "too_large",
    ]
    assert len(read(payloads[:1], frozenset({"legs[49]"})).rows) == 1


def test_one_long_list_among_many_rows_does_not_take_memory_for_all():
    table = pa.table({"legs": pa.array([[1] * 1000] + [None] * 200_000, pa.list_(pa.int8()))})
    assert read([frame(table)]).refused == [(0, "too_large")]


@pytest.mark.parametrize("seed", range(3))
def test_mutated_frames_are_read_or_refused(seed):
    good, made = framed(RECORDS), Frames(seed)
    made._valid.append(good)
    payloads = [good, *made.frames(200), good]
    for paths in (None, frozenset({"at.x", "legs[0].p", "v", "stream"})):
        found = read(payloads, paths)
        assert {code for _, code in found.refused} <= {"bad_frame", "too_large"}
        assert found.places[:4] + found.places[-4:] == [(i, n) for i in (0, 201) for n in range(4)]
