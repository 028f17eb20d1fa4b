"""Avro: the kernel, the plain reader and fastavro read the same; what is no record is refused."""

import datetime as dt
import decimal
import json
from random import Random

import numpy as np
import pytest
from reading_tables import LIMITS, Read, flat

from bench.fuzzing.avro_records import AvroRecords, read_by_fastavro, written
from sde.decoding import Limits
from sde.decoding.avro_plain import Unreadable, read_record
from sde.decoding.avro_program import compile_schema
from sde.decoding.avro_schema import parse_schema
from sde.decoding.avro_tables import read_avro, read_framed_avro
from sde.decoding.paths import Paths
from sde.decoding.schemas import Schema, UnknownSchema
from sde.wire.faults import Refusal

TRADE = {
    "type": "record",
    "name": "Trade",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "price", "type": ["null", "double"]},
        {"name": "legs", "type": {"type": "array", "items": {
            "type": "record", "name": "Leg", "fields": [
                {"name": "price", "type": "double"}, {"name": "n", "type": "long"}]}}},
        {"name": "next", "type": ["null", "Trade"]},
    ],
}  # fmt: skip


def avro(schema):
    return Schema("AVRO", json.dumps(schema))


def record(**types):
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    return {"type": "record", "name": "R", "fields": fields}


def read(schema, payloads, paths=None, limits=LIMITS):
    return Read(read_avro, payloads, paths, limits, schema=avro(schema))


def only(row, paths):
    return {path: text for path, text in row.items() if path in paths}


@pytest.mark.parametrize("seed", range(40))
def test_records_of_any_schema_are_read_as_fastavro_reads_them(seed):
    """All paths, by whichever reader; then some of them, which the kernel reads from arrays too."""
    made, rng = AvroRecords(seed), Random(seed)
    schema = made.schema()
    payloads = [written(schema, made.value(schema)) + b"" for _ in range(30)]
    payloads = [payload for payload in payloads if payload]
    expected = [flat(read_by_fastavro(schema, payload)) for payload in payloads]
    whole = read(schema, payloads)
    assert whole.letters == []
    assert whole.rows == expected
    every = sorted({path for row in expected for path in row})
    some = frozenset(path for path in every if rng.random() < 0.4)
    assert read(schema, payloads, some).rows == [only(row, some) for row in expected]


@pytest.mark.parametrize("seed", range(40))
def test_mutated_records_are_refused_or_read_as_fastavro_reads_them(seed):
    made = AvroRecords(f"mutated {seed}")
    schema = made.schema()
    payloads = [written(schema, made.value(schema)) for _ in range(20)]
    spoilt = [payload for payload in (made.mutated(payloads) for _ in range(100)) if payload]
    for paths in (None, frozenset({"f0", "f1.f0", "f0[0]"})):
        found = read(schema, spoilt, paths)
        assert {code for _, code in found.refused} <= {"bad_record", "too_large"}
        assert len(found.rows) + len(found.letters) == len(spoilt)
        for (message, _), row in zip(found.places, found.rows, strict=True):
            value = flat(read_by_fastavro(schema, spoilt[message]))
            assert row == (value if paths is None else only(value, paths))


@pytest.mark.parametrize("seed", range(20))
def test_the_kernel_refuses_what_the_plain_reader_refuses_for_the_same_reason(seed):
    made = AvroRecords(f"reasons {seed}")
    schema = made.schema()
    payloads = [written(schema, made.value(schema)) for _ in range(20)]
    spoilt = [payload for payload in (made.mutated(payloads) for _ in range(100)) if payload]
    found = read(schema, spoilt, frozenset())
    parsed, refused = parse_schema(json.dumps(schema)), []
    for message, payload in enumerate(spoilt):
        try:
            read_record(parsed, payload, Paths(None))
        except Unreadable:
            refused.append((message, "bad_record"))
    assert found.refused == refused


def test_dates_times_and_timestamps_are_milliseconds():
    kinds = {
        "day": ("int", "date", dt.date(1969, 12, 31)),
        "hour": ("int", "time-millis", dt.time(1, 0, 0, 5000)),
        "minute": ("long", "time-micros", dt.time(0, 1, 0, 7999)),
        "ms": ("long", "timestamp-millis", dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)),
        "us": ("long", "timestamp-micros", dt.datetime(1969, 12, 31, 23, 59, 59, tzinfo=dt.UTC)),
        "local": ("long", "local-timestamp-micros", dt.datetime(1970, 1, 1, 0, 0, 1, 999)),
    }
    schema = record(**{n: {"type": t, "logicalType": k} for n, (t, k, _) in kinds.items()})
    payload = written(schema, {name: value for name, (_, _, value) in kinds.items()})
    assert read(schema, [payload]).rows == [
        {"day": "-86400000", "hour": "3600005", "minute": "60007", "ms": "1700000000000",
         "us": "-1000", "local": "1000"}
    ]  # fmt: skip


@pytest.mark.parametrize("scale", [0, 2, 22, 30])
@pytest.mark.parametrize("kind", ["bytes", "fixed"])
def test_decimals_are_the_nearest_numbers_and_without_a_scale_exact(kind, scale):
    rng = Random(scale)
    of = {"type": kind, "name": "D", "size": 17, "logicalType": "decimal", "precision": 40,
          "scale": scale}  # fmt: skip
    schema = record(d=["null", of], e="D" if kind == "fixed" else of)
    unscaled = [0, 1, -1, 2**53, 2**53 + 1, -(2**63), 2**63, 2**64 - 1, 10**38]
    unscaled += [rng.randrange(-(10**18), 10**18) for _ in range(50)]
    with decimal.localcontext(prec=50):
        values = [decimal.Decimal(number).scaleb(-scale) for number in unscaled]
        payloads = [written(schema, {"d": v if i % 3 else None, "e": v})
                    for i, v in enumerate(values)]  # fmt: skip
        expected = [float(value) for value in values]
    found = read(schema, payloads)
    if scale == 0:
        assert [row["e"] for row in found.rows[:8]] == [str(number) for number in unscaled[:8]]
    numbers = found.tables[0].columns["e"].numbers()
    assert numbers.tolist() == expected
    some = found.tables[0].columns["d"].numbers()
    assert some[1::3].tolist() == expected[1::3]
    assert np.isnan(some[::3]).all()


def test_elements_of_arrays_are_read_by_the_kernel_if_their_paths_are_known():
    schema = TRADE
    legs = [{"price": i / 4, "n": i} for i in range(5)]
    last = {"id": "y", "price": None, "legs": legs[:1], "next": None}
    trade = {"id": "x", "price": 1.5, "legs": legs, "next": {**last, "next": last}}
    payloads = [written(schema, trade), written(schema, last)]
    paths = frozenset({"id", "legs[0].price", "legs[3].n", "next.next.legs[0].n", "legs[9].n"})
    compile_schema(parse_schema(json.dumps(schema)), paths, 10)  # has no need of the plain reader
    assert read(schema, payloads, paths).rows == [
        {"id": "x", "legs[0].price": "0", "legs[3].n": "3", "next.next.legs[0].n": "0"},
        {"id": "y", "legs[0].price": "0"},
    ]


def test_of_a_key_that_a_map_has_twice_the_last_value_holds():
    schema = record(m={"type": "map", "values": ["null", "int"]})
    payload = b"\x06" + b"\x02a\x02\x02" + b"\x02b\x02\x04" + b"\x02a\x00" + b"\x00"
    assert read_by_fastavro(schema, payload) == {"m": {"a": None, "b": 2}}
    assert read(schema, [payload]).rows == [{"m.b": "2"}]


def test_records_that_are_nested_without_end_are_refused():
    empty = {"id": "", "price": None, "legs": [], "next": None}
    one = written(TRADE, empty)
    deep = one[:-1] + b"\x02"
    for paths in (None, frozenset({"id"})):
        found = read(TRADE, [one, deep * 30 + one, deep * 100_000 + one], paths)
        assert found.refused == [(2, "bad_record")]
        assert "inside each other" in found.letters[0]["message"]


def test_elements_and_records_without_bytes_take_no_time():
    """A count of 2**50 nulls; records of records of nothing, 2**40 of them."""
    nulls = record(n={"type": "array", "items": "null"}, v="int")
    many = b"\x80\x80\x80\x80\x80\x80\x80\x02" + b"\x00\x02"
    few = b"\x08\x00\x02"
    for paths in (None, frozenset({"v"})):
        assert read(nulls, [few, many], paths).refused == [(1, "bad_record")]
    inner = {"type": "record", "name": "E0", "fields": []}
    for i in range(1, 41):
        inner = {"type": "record", "name": f"E{i}", "fields": [
            {"name": "a", "type": inner}, {"name": "b", "type": f"E{i - 1}"}]}  # fmt: skip
    assert read(record(e=inner, v="int"), [b"\x02"], frozenset({"v"})).refused == [
        (0, "bad_record")
    ]
    with pytest.raises(Refusal, match="too_large"):
        read(record(e=inner, v="int"), [b"\x02"])


def test_messages_of_several_schemas_become_one_table_in_their_order():
    old, new = record(k="int", v="string"), record(k="string", v="string", extra="double")
    schemas = {7: avro(old), 8: avro(new)}
    payloads, expected = [], []
    for i in range(20):
        number, value = (
            (7, {"k": i, "v": "o"}) if i % 3 else (8, {"k": "x", "v": "n", "extra": i / 2})
        )
        schema = new if number == 8 else old
        payloads.append(b"\0" + number.to_bytes(4) + written(schema, value))
        expected.append(flat(value))
    found = Read(read_framed_avro, payloads, schemas=schemas.__getitem__)
    assert len(found.tables) == 1
    assert found.rows == expected


def test_messages_without_a_frame_or_of_an_unknown_schema_are_refused_alone():
    schema = record(v="int")

    def schemas(number):
        if number == 404:
            raise UnknownSchema("the registry has none of this number")
        if number == 9:
            return Schema("PROTOBUF", "message A {}")
        return Schema("AVRO", "{" if number == 5 else json.dumps(schema))

    good = b"\0\0\0\0\1\x02"
    bad = [b"\0\0", b"\1\0\0\0\1\x02", b"\0\0\0\1\x94\x02", b"\0\0\0\0\5\x02", b"\0\0\0\0\x09\x02"]
    found = Read(read_framed_avro, [good, *bad, good, b"\0\0\0\0\1"], schemas=schemas)
    assert found.rows == [{"v": "1"}] * 2
    assert found.refused == [
        (1, "bad_record"), (2, "bad_record"), (3, "unknown_schema"), (4, "bad_schema"),
        (5, "bad_schema"), (7, "bad_record"),
    ]  # fmt: skip
    assert found.letters[-1]["message"] == "not of its Avro schema: v: the record ends inside it"


def test_a_registry_that_is_away_refuses_nothing():
    def schemas(number):
        raise ConnectionError

    with pytest.raises(ConnectionError):
        Read(read_framed_avro, [b"\0\0\0\0\1\x02"], schemas=schemas)


def test_referenced_schemas_define_the_types_that_are_used():
    leg = '{"type": "record", "name": "shop.Leg", "fields": [{"name": "n", "type": "long"}]}'
    text = json.dumps({**record(leg="Leg"), "namespace": "shop"})
    found = Read(read_avro, [b"\x04"], schema=Schema("AVRO", text, (("leg", leg),)))
    assert found.rows == [{"leg.n": "2"}]


@pytest.mark.parametrize(
    "text",
    ["", "7", "[]", '"int"', "{}", '{"type": "record"}', '{"type": "array", "items": "int"}',
     '{"type": "record", "name": "R"}', '{"type": "record", "name": "R", "fields": [1]}',
     '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "B"}]}',
     '{"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "enum",'
     ' "name": "E", "symbols": []}}]}', "[" * 100 + "]" * 100, "\ud800", "[" * 5000],
)  # fmt: skip
def test_a_schema_that_cannot_be_used_says_why(text):
    with pytest.raises(Refusal, match="Avro schema cannot be used"):
        Read(read_avro, [b"\x02"], schema=Schema("AVRO", text))


def test_records_beyond_the_limits_are_refused():
    schema = record(a="int", b="string", m={"type": "map", "values": "int"})
    small = written(schema, {"a": 1, "b": "", "m": {}})
    many = written(schema, {"a": 1, "b": "", "m": {f"k{i}": i for i in range(5)}})
    named = written(schema, {"a": 1, "b": "", "m": {"k" * 20: 1}})
    large = written(schema, {"a": 1, "b": "x" * 200, "m": {}})
    limits = Limits(max_tuple_bytes=100, max_fields=4, max_name=20)
    found = read(schema, [small, many, named, large], limits=limits)
    assert found.refused == [(1, "too_large"), (2, "too_large"), (3, "too_large")]
