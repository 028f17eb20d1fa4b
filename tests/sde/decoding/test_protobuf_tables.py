"""Protobuf: the kernel reads what Protobuf's own runtime reads; what is no message is refused."""

from random import Random

import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.message_factory import GetMessageClass
from reading_tables import Read, flat

from bench.fuzzing.protobuf_records import ProtobufRecords
from sde.decoding import Limits
from sde.decoding.paths import Paths
from sde.decoding.protobuf_plain import read_message
from sde.decoding.protobuf_program import compile_message
from sde.decoding.protobuf_schema import load_schema, message_at
from sde.decoding.protobuf_tables import read_framed_protobuf
from sde.decoding.schemas import Schema, UnknownSchema
from sde.wire.faults import Refusal
from synopses.hashing import key_text

SHOP = """
syntax = "proto3";
package shop;  // of tests
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
option java_package = "shop";
/* one trade
   of many */
message Trade {
  reserved 50, 60 to max; reserved "old";
  enum Side { option allow_alias = true; BUY = 0; SELL = 1; SOLD = 1 [deprecated = true]; }
  string id = 1;
  double price = 2 [json_name = "p", (x.y) = { a: "];" }];
  optional int64 volume = 3;
  Side side = 4;
  google.protobuf.Timestamp at = 5;
  Trader trader = 6;
  oneof from { string site = 7; Trader broker = 8; }
  repeated Leg legs = 9;
  map<string, sint32> tags = 10;
  google.protobuf.UInt64Value limit = 11;
  google.protobuf.Duration took = 12;
  bytes raw = 13;
  uint64 number = 14;
  bool open = 15;
  float rate = 0x10;
  message Leg { int64 n = 1; repeated double prices = 2; }
  message Trader { string name = 1; Trader boss = 2; fixed32 age = 3; }
}
message Other { int32 v = 1; message Inner { message Third { int32 w = 1; } } }
service Shop { rpc Buy (Trade) returns (Other) { option (x) = "}"; } }
"""
MANY_FIELDS = Limits(max_fields=100_000)  # messages inside themselves have many
TRADE, OTHER, THIRD = b"\0", b"\x02\x02", b"\x06\x02\0\0"
DEFAULTS = {
    "id": "",
    "price": "0",
    "side": "BUY",
    "raw": "",
    "number": "0",
    "open": "false",
    "rate": "0",
}


def message(text, indexes=(0,)):
    return message_at(load_schema(Schema("PROTOBUF", text)), list(indexes))


def framed(payload, prefix=TRADE):
    return b"\0\0\0\0\7" + prefix + payload


def read(text, payloads, paths=None, limits=MANY_FIELDS, prefix=TRADE):
    framed_ones = [framed(payload, prefix) for payload in payloads]
    schema = Schema("PROTOBUF", text)
    return Read(read_framed_protobuf, framed_ones, paths, limits, schemas=lambda number: schema)


def by_runtime(descriptor, payload, paths=None):
    values = read_message(descriptor, Paths(paths), payload)
    return {path: key_text(value) for path, value in values.items()}


def trade(**fields):
    return GetMessageClass(message(SHOP))(**fields).SerializeToString()


ALL = {
    "id": "x", "price": 1.25, "volume": 0, "side": 1,
    "at": {"seconds": 1_700_000_000, "nanos": 5_999_999},
    "trader": {"name": "ann", "boss": {"name": "bob"}}, "broker": {"name": "carl", "age": 7},
    "legs": [{"n": 1, "prices": [1.5, 2.5]}, {"n": 2**53 + 1}], "tags": {"a": -1},
    "limit": {"value": 2**64 - 1}, "took": {"seconds": -1, "nanos": -500_000_000},
    "raw": b"a\xff", "number": 2**63, "open": True, "rate": 0.5,
}  # fmt: skip
ALL_READ = {
    "id": "x", "price": "1.25", "volume": "0", "side": "SELL", "at": "1700000000005",
    "trader.name": "ann", "trader.age": "0", "trader.boss.name": "bob", "trader.boss.age": "0",
    "broker.name": "carl", "broker.age": "7",
    "legs[0].n": "1", "legs[0].prices[0]": "1.5", "legs[0].prices[1]": "2.5",
    "legs[1].n": str(2**53 + 1), "tags.a": "-1", "limit": str(2**64 - 1), "took": "-1500",
    "raw": "a\u00ff", "number": str(2**63), "open": "true", "rate": "0.5",
}  # fmt: skip


def test_every_kind_of_field_is_read():
    payloads = [trade(**ALL), trade()]
    assert read(SHOP, payloads).rows == [ALL_READ, DEFAULTS]
    fixed = frozenset(path for path in ALL_READ if "[" not in path and "tags" not in path)
    compile_message(message(SHOP), Paths(fixed), 100)  # the kernel reads these
    only = [
        {path: text for path, text in row.items() if path in fixed} for row in (ALL_READ, DEFAULTS)
    ]
    assert read(SHOP, payloads, fixed).rows == only


def test_plain_values_are_those_of_protobufs_json():
    inner = "message B { int32 i = 1; }"
    text = f'syntax = "proto3"; message A {{ string s = 1; B b = 2; double d = 3; }} {inner}'
    cls = GetMessageClass(message(text))
    made = cls(s="x", b={"i": -5}, d=0.1)
    assert read(text, [made.SerializeToString()]).rows == [flat(MessageToDict(made))]


def test_what_proto3_leaves_out_is_its_default_and_what_may_be_missing_is_missing():
    fields = "optional int32 a = 1; required string b = 2; optional int32 c = 3 [default = 5];"
    proto2 = f"message A {{ {fields} }}"
    assert read(proto2, [b"\x12\x01x"]).rows == [{"b": "x"}]
    paths = frozenset({"volume", "trader.name", "trader.age", "site", "at", "price"})
    given = trade(trader={"name": "ann"}, volume=0, site="")
    assert read(SHOP, [b"", given], paths).rows == [
        {"price": "0"},
        {"price": "0", "trader.name": "ann", "trader.age": "0", "volume": "0", "site": ""},
    ]


def test_the_last_of_a_oneof_holds_and_messages_that_come_twice_are_merged():
    broker, site = trade(broker={"name": "b"}), trade(site="s")
    age = trade(broker={"age": 3})
    paths = frozenset({"site", "broker.name", "broker.age"})
    payloads = [broker + site, site + broker, broker + age, broker + site + age]
    expected = [
        {"site": "s"},
        {"broker.name": "b", "broker.age": "0"},
        {"broker.name": "b", "broker.age": "3"},
        {"broker.name": "", "broker.age": "3"},
    ]
    assert read(SHOP, payloads, paths).rows == expected
    assert [by_runtime(message(SHOP), p, paths) for p in payloads] == expected


def test_enum_values_without_a_name_are_numbers_in_proto3_and_missing_in_proto2():
    assert read(SHOP, [b"\x20\x09"], frozenset({"side"})).rows == [{"side": "9"}]
    proto2 = "enum E { A = 1; } message M { optional E e = 1; }"
    assert read(proto2, [b"\x08\x01", b"\x08\x09", b"\x08\x01\x08\x09"]).rows == [
        {"e": "A"}, {}, {"e": "A"},
    ]  # fmt: skip


def test_the_message_of_a_schema_is_told_by_the_numbers_before_it():
    assert read(SHOP, [b"\x08\x05"], prefix=OTHER).rows == [{"v": "5"}]
    third = read(SHOP, [b"\x08\x06"], prefix=b"\x06\x02\0\0")
    assert third.rows == [{"w": "6"}]
    payloads = [framed(b"\x08\x05", OTHER), framed(trade(id="x")), framed(b"\x08\x06", OTHER)]
    schema = Schema("PROTOBUF", SHOP)
    found = Read(read_framed_protobuf, payloads, frozenset({"id", "v"}), schemas=lambda n: schema)
    assert found.rows == [{"v": "5"}, {"id": "x"}, {"v": "6"}]
    for bad in (b"\x02", b"\x02\x09", b"\x01", b"\x80" * 12, b"\x10" + b"\x02" * 8, b""):
        found = read(SHOP, [b""], prefix=bad)
        assert found.refused == [(0, "bad_record")], bad


@pytest.mark.parametrize("seed", range(60))
def test_messages_of_any_schema_are_read_as_the_runtime_reads_them(seed):
    """All paths, by whichever reader; then some, which the kernel reads if it can."""
    made, rng = ProtobufRecords(seed), Random(seed)
    text = made.schema()
    descriptor = message(text)
    payloads = [made.value(descriptor).SerializeToString() for _ in range(30)]
    expected = [by_runtime(descriptor, payload) for payload in payloads]
    whole = read(text, payloads)
    assert whole.letters == []
    assert whole.rows == expected
    every = sorted({path for row in expected for path in row})
    for at_random in (0.5, 0.2):
        some = frozenset(path for path in every if rng.random() < at_random and "[" not in path)
        found = read(text, payloads, some)
        assert found.rows == [{p: t for p, t in row.items() if p in some} for row in expected]


@pytest.mark.parametrize("seed", range(60))
def test_mutated_messages_are_refused_or_read_as_the_runtime_reads_them(seed):
    made = ProtobufRecords(f"mutated {seed}")
    text = made.schema()
    descriptor = message(text)
    payloads = [made.value(descriptor).SerializeToString() for _ in range(20)]
    spoilt = [made.mutated(payloads) for _ in range(200)]
    paths = frozenset({"f0", "f1", "f2", "f2.f0", "f1.f0", "f3.f1", "g0.f0", "g1.f1"})
    found = read(text, spoilt, paths)
    assert {code for _, code in found.refused} <= {"bad_record"}
    assert len(found.rows) + len(found.letters) == len(spoilt)
    for (place, _), row in zip(found.places, found.rows, strict=True):
        assert row == by_runtime(descriptor, spoilt[place], paths), spoilt[place]


def test_texts_that_are_not_utf8_are_refused_by_both_readers_in_both_languages():
    for syntax in ("proto2", "proto3"):
        text = f'syntax = "{syntax}"; message A {{ optional string s = 1; repeated string r = 2; }}'
        assert read(text, [b"\x12\x01\xff"]).refused == [(0, "bad_record")]
        for paths in (None, frozenset({"s"})):  # the runtime, then the kernel
            assert read(text, [b"\x0a\x01\xff", b""], paths).refused == [(0, "bad_record")]


def test_messages_that_are_nested_without_end_are_refused():
    deep = b""
    for _ in range(100):
        deep = b"\x12" + _varint(len(deep)) + deep
    boss = b"\x32" + _varint(len(deep)) + deep
    for paths in (None, frozenset({"id"})):
        assert read(SHOP, [boss, trade()], paths).refused == [(0, "bad_record")]


def _varint(number):
    return bytes([number]) if number < 128 else bytes([number & 0x7F | 0x80, number >> 7])


def test_a_schema_that_is_imported_is_taken_from_the_references():
    money = 'syntax = "proto3"; package m; message Money { int64 units = 1; }'
    text = 'syntax = "proto3"; import "money.proto"; message A { m.Money price = 1; }'
    schema = Schema("PROTOBUF", text, (("money.proto", money),))
    found = Read(read_framed_protobuf, [framed(b"\x0a\x02\x08\x05")], schemas=lambda n: schema)
    assert found.rows == [{"price.units": "5"}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("message A { B b = 1; }", "couldn't resolve name 'B'"),
        ("message A { optional group X = 1 {} }", "a group"),
        ("message", "expected a name"),
        ('edition = "2023";', "'edition'"),
        ('syntax = "proto4";', "expected proto2 or proto3"),
        ("message A { optional int32 a = 1; optional int32 b = 1; }", "duplicate field number"),
        ('import "x.proto";', "neither referred to nor well known"),
        ("message A { optional int32 a = 99999999999; }", "a number of 32 bits"),
        ("message A { optional int32 a = x; }", "expected a number"),
        ('message A { "', "not understood"),
        ("message A { option a = {", "ends too early"),
        ("message A {" * 40, "inside each other"),
        ("enum E {}", "at least one value"),
        ("x" * 2_000_000, "expected at most"),
        ("message A {} \ud800", "not understood"),
    ],
)  # fmt: skip
def test_a_schema_that_cannot_be_used_says_why(text, reason):
    with pytest.raises(Refusal) as caught:
        load_schema(Schema("PROTOBUF", text))
    assert caught.value.fault.code == "bad_schema"
    assert reason in caught.value.fault.message


def test_schemas_that_cannot_be_used_refuse_their_messages_alone():
    def schemas(number):
        if number == 9:
            raise UnknownSchema("none")
        return Schema("AVRO", "{}") if number == 8 else Schema("PROTOBUF", SHOP)

    payloads = [framed(trade(id="x")), b"\0\0\0\0\x08\0", b"\0\0\0\0\x09\0", framed(b"\x0a\x05x")]
    found = Read(read_framed_protobuf, payloads, frozenset({"id"}), schemas=schemas)
    assert found.rows == [{"id": "x"}]
    assert [code for _, code in found.refused] == ["bad_schema", "unknown_schema", "bad_record"]
    assert found.letters[-1]["message"].startswith("not of its Protobuf schema: id: a size")


def test_messages_beyond_the_limits_are_refused():
    many, few = trade(legs=[{"n": 1}] * 50), trade()
    limits = Limits(max_fields=20, max_tuple_bytes=300)
    found = read(SHOP, [many, few, trade(id="x" * 400)], limits=limits)
    assert found.refused == [(0, "too_large"), (2, "too_large")]
