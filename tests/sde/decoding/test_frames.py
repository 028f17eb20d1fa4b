"""Arrow frames mean what the same tuples mean as JSON; nothing in them is trusted."""

import base64
import datetime as dt
import decimal
import json

import naive_decoding as naive
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.fuzzing.frames import Frames
from sde.decoding import Limits, decode_tuples
from sde.tuples.block import Block
from sde.tuples.needs import Needs, NeedsByDataset
from sde.tuples.times import event_times

LIMITS = Limits()
TIMES = [1_700_000_000_000, 1_700_000_000_001, None]


def frame(table, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, **options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def forex(**columns):
    columns.setdefault("stream", ["S1", "S2", "S1"])
    return pa.table(columns).replace_schema_metadata({"dataset": "Forex"})


def decode(*payloads, shards=4):
    return decode_tuples(naive.messages(list(payloads)), shards, LIMITS)


def refusal(payload):
    good = frame(forex())
    decoded = decode(good, payload, good)
    [letter] = decoded.letters
    assert letter["offset"] == 1001
    assert len(naive.tuples_of(decoded.blocks)) == 6
    return letter["code"], letter.get("field")


def test_texts_of_dictionaries_are_the_same_as_texts_written_out():
    """Dictionaries that differ from frame to frame, with texts twice or never used, and gaps."""
    coded, plain = [], []
    for number, names in enumerate((["b", "a", "b", "z"], ["c", "a", "7"], ["2024-01-01", "x"])):
        codes = pa.array([0, 2 % len(names), 1, None, 1], pa.int8())
        id_ = pa.DictionaryArray.from_arrays(codes, names)
        stream = pa.DictionaryArray.from_arrays(codes.fill_null(0), [f"{n}{number}" for n in names])
        coded.append(frame(forex(stream=stream, id=id_)))
        plain.append(frame(forex(stream=stream.dictionary_decode(), id=id_.dictionary_decode())))
    framed, expected = decode(*coded), decode(*plain)
    assert framed.letters == []
    assert naive.tuples_of(framed.blocks) == naive.tuples_of(expected.blocks)
    for one, other in zip(framed.blocks, expected.blocks, strict=True):
        assert list(one.streams) == list(other.streams)
        back = Block.from_bytes(one.to_bytes(compress=True))
        for each in (one, back):
            rows = other.column("id").valid if other.column("id").valid is not None else slice(None)
            assert list(each.texts("id").take(np.arange(len(each)))) == list(one.texts("id"))
            np.testing.assert_array_equal(each.keys("id")[0][rows], other.keys("id")[0][rows])
            np.testing.assert_array_equal(each.numbers("id"), other.numbers("id"))
            np.testing.assert_array_equal(
                event_times(each.column("id"), "auto"), event_times(other.column("id"), "auto")
            )


def test_names_of_a_dictionary_are_checked_like_others():
    for bad in ("", "x" * (LIMITS.max_name + 1)):
        stream = pa.array(["S1", bad, "S1"]).dictionary_encode()
        decoded = decode(frame(forex(stream=stream)))
        assert [letter["field"] for letter in decoded.letters] == ["stream"]
        assert len(naive.tuples_of(decoded.blocks)) == 2


def test_a_frame_is_the_same_tuples_as_json():
    rows = [
        {"stream": "S1", "time": 5, "id": "a", "n": 7, "x": 1.5, "on": True, "big": 2**63},
        {"stream": "é", "time": 6, "id": "", "n": -(2**63), "x": 1e300, "on": False, "big": 1},
        {"stream": "a name beyond sixteen", "time": 7, "id": None, "n": None, "x": 2.0},
    ] * 20
    table = pa.Table.from_pylist(
        rows,
        pa.schema(
            [
                ("stream", pa.string()),
                ("time", pa.int64()),
                ("id", pa.dictionary(pa.int8(), pa.string())),
                ("n", pa.int64()),
                ("x", pa.float64()),
                ("on", pa.bool_()),
                ("big", pa.uint64()),
            ],
            {"dataset": "Forex"},
        ),
    )
    lines = b"\n".join(json.dumps({"dataset": "Forex", **row}).encode() for row in rows)
    framed, plain = decode(frame(table)), decode(lines)
    assert framed.letters == plain.letters == []
    assert naive.tuples_of(framed.blocks) == naive.tuples_of(plain.blocks)
    for one, other in zip(framed.blocks, plain.blocks, strict=True):
        assert (one.dataset, one.shard, one.base) == (other.dataset, other.shard, other.base)
        assert one.ids().tolist() == other.ids().tolist()
        for name in other.fields:
            np.testing.assert_array_equal(one.numbers(name), other.numbers(name))
            np.testing.assert_array_equal(one.keys(name)[0], other.keys(name)[0])


def test_frames_and_json_may_follow_one_another():
    row = b'{"dataset":"Forex","stream":"S1","v":1}'
    decoded = decode(row, frame(forex(v=[1, 2, 3])), frame(forex(v=[4, 5, 6])), b"x", row)
    places = [(1000, 0), *((o, i) for o in (1001, 1002) for i in range(3)), (1004, 0)]
    assert sorted(naive.tuples_of(decoded.blocks)) == places
    assert naive.refused(decoded.letters) == {(1003, 0): "bad_json"}


def test_dates_times_and_decimals_are_numbers():
    noon = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
    columns = {
        "day": pa.array([dt.date(2020, 1, 1)] * 3),
        "at": pa.array([noon] * 3, pa.timestamp("us", "UTC")),
        "cost": pa.array([decimal.Decimal("12.50")] * 3),
        "small": pa.array([1.5] * 3, pa.float32()),
        "count": pa.array([3] * 3, pa.uint8()),
    }
    [block] = decode(frame(forex(**columns)), shards=1).blocks
    assert {name: block.numbers(name)[0] for name in columns} == {
        "day": 1_577_836_800_000,
        "at": 1_577_880_000_000,
        "cost": 12.5,
        "small": 1.5,
        "count": 3,
    }
    assert block.texts("cost")[0] == "12.5"


def test_time_may_be_a_timestamp_and_where_it_is_null_the_messages_time_holds():
    for kind in (pa.int64(), pa.timestamp("ms")):
        [block] = decode(frame(forex(time=pa.array(TIMES, kind))), shards=1).blocks
        assert block.times.tolist() == [*TIMES[:2], naive.TIMESTAMP + 1000]
    [block] = decode(frame(forex(time=pa.nulls(3))), shards=1).blocks
    assert block.times.tolist() == [naive.TIMESTAMP + 1000] * 3


def test_numbers_that_json_has_not_count_as_missing():
    [block] = decode(
        frame(forex(x=[1.0, float("nan"), float("inf")], y=[None] * 3)), shards=1
    ).blocks
    assert list(block.fields) == ["x"]
    assert block.fields["x"].valid.tolist() == [True, False, False]


def test_the_data_set_may_be_a_column_and_the_stream_a_number():
    table = pa.table({"dataset": ["a", "b", "a"], "stream": [1, 2, 1], "v": [1, 2, 3]})
    found = naive.tuples_of(decode(frame(table)).blocks)
    assert [(d, s, v) for d, s, _, v in (found[1000, i] for i in range(3))] == [
        ("a", "1", {"v": "1"}),
        ("b", "2", {"v": "2"}),
        ("a", "1", {"v": "3"}),
    ]


def test_only_the_bad_rows_of_a_frame_are_refused():
    table = pa.table(
        {
            "dataset": ["a", None, "a", "a", "a", "a"],
            "stream": ["s", "s", None, "", "s" * 600, "s"],
            "time": [1, 1, 1, 1, 1, 1 << 60],
            "v": range(6),
        }
    )
    decoded = decode(frame(table))
    assert list(naive.tuples_of(decoded.blocks)) == [(1000, 0)]
    refused = [(letter["line"], letter["field"]) for letter in decoded.letters]
    assert refused == [(1, "dataset"), (2, "stream"), (3, "stream"), (4, "stream"), (5, "time")]


def test_a_frame_of_bad_rows_does_not_become_as_many_letters():
    payload = frame(forex(stream=pa.nulls(5000, pa.string())))
    decoded = decode(payload)
    assert decoded.blocks == []
    assert len(decoded.letters) == LIMITS.max_letters + 1
    assert "4000 more" in decoded.letters[-1]["message"]


@pytest.mark.parametrize(
    ("table", "field"),
    [
        (pa.table({"stream": ["s"], "v": [1]}), "dataset"),
        (pa.table({"dataset": ["d"], "v": [1]}), "stream"),
        (pa.table({"dataset": [1], "stream": ["s"]}), "dataset"),
        (pa.table({"dataset": ["d"], "stream": [True]}), "stream"),
        (pa.table({"dataset": ["d"], "stream": ["s"], "time": ["now"]}), "time"),
        (
            pa.table({"dataset": ["d"], "stream": ["s"], "time": pa.array([2**63], pa.uint64())}),
            "time",
        ),
        (pa.table({"dataset": ["d"], "stream": pa.nulls(1)}), "stream"),
        (pa.table({"dataset": ["d"], "stream": ["s"], "v": [[1]]}), "v"),
        (pa.table({"dataset": ["d"], "stream": ["s"], "v": [b"x"]}), "v"),
        (pa.table([["d"], ["s"], [1], [2]], names=["dataset", "stream", "v", "v"]), "v"),
    ],
)
def test_a_frame_with_a_column_that_cannot_be_one_is_refused_and_names_it(table, field):
    assert refusal(frame(table)) == ("bad_frame", field)


def test_a_compressed_frame_is_refused_before_anything_is_unpacked():
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    dictionary = forex(v=pa.array(["x" * 1000] * 3).dictionary_encode())
    for table in (forex(v=[1.0] * 3), dictionary):
        assert refusal(frame(table, options=options)) == ("bad_frame", None)


def test_a_dictionary_that_would_unfold_to_a_giant_is_refused():
    rows = 100_000
    huge = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int8()), ["x" * 100_000])
    assert refusal(frame(forex(stream=["s"] * rows, v=huge))) == ("too_large", None)


def test_too_many_columns_are_refused():
    columns = {f"f{i}": [1, 2, 3] for i in range(1001)}
    assert refusal(frame(forex(**columns))) == ("too_large", None)


@given(st.data())
def test_a_damaged_frame_is_refused_or_read_but_never_stops_anything(data):
    payload = bytearray(frame(forex(v=pa.array(["a", None, "b"]).dictionary_encode(), x=[1.5] * 3)))
    for _ in range(data.draw(st.integers(0, 4))):
        payload[data.draw(st.integers(4, len(payload) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(payload)), st.integers(4, len(payload))))
    good = b'{"dataset":"d","stream":"s","v":1}'
    decoded = decode(good, bytes(payload[:cut]), good)
    assert {(1000, 0), (1002, 0)} <= set(naive.tuples_of(decoded.blocks))


@pytest.mark.parametrize("kind", [pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.int64()])
def test_a_time_beyond_the_years_that_python_knows_is_refused_and_shown(kind):
    table = forex(time=pa.array([5, 1 << 60, 6], kind), day=pa.array([1, 1 << 30, 2], pa.date32()))
    decoded = decode(frame(table))
    assert naive.refused(decoded.letters) == {(1000, 1): "bad_tuple"}
    excerpt = json.loads(base64.b64decode(decoded.letters[0]["excerpt"]))
    assert excerpt == {"stream": "S2", "time": 1 << 60, "day": 1 << 30}
    assert len(naive.tuples_of(decoded.blocks)) == 2


def test_fuzzed_frames_are_read_or_refused_and_nothing_else_is_touched():
    good = b'{"dataset":"d","stream":"s","v":1}'
    decoded = decode(*(p for one in Frames("tests").frames(1000) for p in (one, good)))
    assert sum(len(block) for block in decoded.blocks if block.dataset == "d") >= 1000


BEYOND = [1, 2**62, -(2**63)]  # seconds, of which two are no milliseconds of 64 bits


def test_a_time_in_a_field_that_is_beyond_64_bits_is_no_value_and_refuses_nobody():
    decoded = decode(frame(forex(at=pa.array(BEYOND, pa.timestamp("s")))), shards=1)
    assert decoded.letters == []
    (block,) = decoded.blocks
    np.testing.assert_array_equal(block.numbers("at"), [1000, np.nan, np.nan])


def test_what_is_wanted_does_not_change_what_is_refused():
    payloads = [frame(forex(at=pa.array(BEYOND, pa.timestamp("s")))), *Frames(7).frames(300)]
    some = NeedsByDataset({"Forex": Needs(frozenset({"v"}), times=True)})
    messages = naive.messages(payloads)
    letters = [decode_tuples(messages, 4, LIMITS, wanted).letters for wanted in (None, some)]
    assert letters[0] == letters[1]


def test_a_frame_whose_times_are_beyond_64_bits_is_refused():
    fault = refusal(frame(forex(time=pa.array(BEYOND, pa.timestamp("s")))))
    assert fault == ("bad_frame", "time")
