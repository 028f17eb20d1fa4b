"""Tuples on their way out: singly, in bulk, as tables and from files."""

import gzip
import io
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from clients import BadInput, Client, InMemoryTransport
from clients.tables import BYTES_A_FRAME, MOST_BYTES_A_FRAME, encode_frames
from clients.tuples import BYTES_A_MESSAGE

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
NOON_MS = 1_704_110_400_000


@dataclass
class Point:
    x: int
    y: int


@pytest.fixture
def transport() -> InMemoryTransport:
    return InMemoryTransport()


@pytest.fixture
def sde(transport) -> Client:
    return Client(transport)


def test_one_tuple_is_one_message(sde, transport) -> None:
    sde.send("Forex", "EURUSD", {"price": 1.5, "n": np.int64(3)}, time=NOON)
    sde.send("Forex", "EURUSD", {"price": 1.5}, time=5)
    sde.send("Forex", "EURUSD", {"price": 1.5})
    head = {"dataset": "Forex", "stream": "EURUSD"}
    assert transport.tuples == [
        {**head, "values": {"price": 1.5, "n": 3}, "time": NOON_MS},
        {**head, "values": {"price": 1.5}, "time": 5},
        {**head, "values": {"price": 1.5}},
    ]
    assert len(transport.data) == 3


@pytest.mark.parametrize("time", [1.5, "noon"])
def test_a_time_that_is_not_clear_is_refused(sde, time) -> None:
    with pytest.raises(BadInput, match="time="):
        sde.send("d", "s", {}, time=time)


@pytest.mark.parametrize("value", [object(), 2**70], ids=["object", "too large"])
def test_a_value_that_is_no_json_is_refused_with_its_field(sde, value) -> None:
    with pytest.raises(BadInput, match=r"values\['x'\]=.*JSON"):
        sde.send("d", "s", {"n": 1, "x": value})


def test_a_time_without_a_zone_is_in_utc_in_whatever_way_it_is_sent(sde, transport) -> None:
    naive = NOON.replace(tzinfo=None)
    sde.send("d", "s", {"at": naive}, naive)
    sde.send_table("d", pd.DataFrame({"stream": ["s"], "at": [naive], "time": [naive]}))
    one, other = transport.tuples
    assert one == other
    assert (one["time"], one["values"]["at"]) == (NOON_MS, NOON_MS)


def test_a_time_among_the_values_is_milliseconds_too(sde, transport) -> None:
    sde.send("d", "s", {"at": NOON})
    assert transport.tuples[0]["values"] == {"at": NOON_MS}


def test_bulk_goes_a_thousand_lines_a_message(sde, transport) -> None:
    rows = [("s", {"n": n}) for n in range(2500)]
    assert sde.send_many("d", iter(rows)) == 2500
    assert [payload.count(b"\n") + 1 for payload in transport.data] == [1000, 1000, 500]
    assert [one["values"]["n"] for one in transport.tuples] == list(range(2500))


def test_bulk_takes_tuples_and_mappings(sde, transport) -> None:
    row = {"stream": "s", "values": {"x": 1}, "time": 5}
    sde.send_many("d", [("s", {"x": 1}, 5), row, {"stream": "s", "values": {}}])
    first, second, third = transport.tuples
    assert first == second == {"dataset": "d", **row}
    assert third == {"dataset": "d", "stream": "s", "values": {}}


@pytest.mark.parametrize("row", [("s",), {"stream": "s"}, {"stream": "s", "values": {}, "x": 1}])
def test_a_row_of_another_form_is_refused(sde, row) -> None:
    with pytest.raises(BadInput, match="expected"):
        sde.send_many("d", [row])


def test_bulk_messages_stay_small_when_tuples_are_big(sde, transport) -> None:
    sde.send_many("d", [("s", {"text": "x" * 100_000})] * 50)
    assert len(transport.tuples) == 50
    assert all(len(payload) <= BYTES_A_MESSAGE for payload in transport.data)


def test_nothing_to_send_sends_nothing(sde, transport) -> None:
    assert sde.send_many("d", []) == 0
    assert sde.send_table("d", pa.table({"stream": pa.array([], pa.string())})) == 0
    assert transport.data == []


def test_a_frame_of_pandas_becomes_tuples(sde, transport) -> None:
    frame = pd.DataFrame(
        {
            "StockID": pd.Categorical(["A", "B"]),
            "at": pd.to_datetime([NOON, NOON]),
            "price": np.array([1.5, np.nan], np.float32),
            "volume": np.array([3, 4], np.uint16),
            "up": [True, False],
        }
    )
    assert sde.send_table("Forex", frame, stream="StockID", time="at") == 2
    first, second = transport.tuples
    assert (first["dataset"], first["stream"], first["time"]) == ("Forex", "A", NOON_MS)
    assert first["values"] == {
        "StockID": "A",
        "at": NOON_MS,
        "price": 1.5,
        "volume": 3,
        "up": True,
    }
    assert second["values"]["price"] is None


@pytest.mark.parametrize(
    "column",
    [
        pa.array([NOON_MS]),
        pa.array([float(NOON_MS)]),
        pa.array([NOON]),
        pa.array(["2024-01-01T12:00:00.000999"]),
        pa.array(["2024-01-01 14:00:00+02:00"]),
        pa.array([NOON.replace(tzinfo=None)], pa.timestamp("ns")),
    ],
    ids=lambda column: str(column.type),
)
def test_times_of_any_form_become_milliseconds(sde, transport, column) -> None:
    sde.send_table("d", pa.table({"stream": ["s"], "time": column}))
    assert transport.tuples == [{"dataset": "d", "stream": "s", "time": NOON_MS, "values": {}}]


def test_frames_have_the_types_of_json_and_name_the_data_set(sde, transport) -> None:
    table = pa.table(
        {
            "stream": pa.array(["s"]).dictionary_encode(),
            "time": pa.array([5], pa.int32()),
            "small": pa.array([1], pa.int8()),
            "decimal": pa.array([1], pa.decimal128(5, 2)),
            "large": pa.array(["x"], pa.large_string()),
            "nothing": pa.nulls(1),
            "huge": pa.array([2**64 - 1], pa.uint64()),
        }
    )
    sde.send_table("d", table)
    schema = pa.ipc.open_stream(transport.data[0]).schema
    assert schema.metadata == {b"dataset": b"d"}
    assert {name: str(schema.field(name).type) for name in schema.names} == {
        "stream": "string",
        "time": "int64",
        "small": "int64",
        "decimal": "double",
        "large": "string",
        "nothing": "string",
        "huge": "string",
    }
    assert transport.tuples[0]["values"]["huge"] == str(2**64 - 1)


def test_texts_that_repeat_are_sent_once(sde, transport) -> None:
    rows = [{"stream": f"s{i % 3}", "k": f"k{i % 5}" if i % 7 else None} for i in range(100)]
    sde.send_table("d", pa.Table.from_pylist(rows))
    kinds = {str(pa.ipc.open_stream(frame).schema.field("k").type) for frame in transport.data}
    assert kinds == {"dictionary<values=string, indices=int16, ordered=0>"}
    sent = sorted((t["stream"], str(t["values"]["k"])) for t in transport.tuples)
    assert sent == sorted((row["stream"], str(row["k"])) for row in rows)


def test_a_large_table_becomes_many_frames_of_a_good_size(sde, transport) -> None:
    n = 200_000
    table = pa.table({"stream": ["s"] * n, "x": np.arange(n), "y": np.ones(n)})
    assert sde.send_table("d", table) == n
    assert len(transport.data) >= 3
    assert all(len(payload) < 1.1 * BYTES_A_FRAME for payload in transport.data)
    assert [one["values"]["x"] for one in transport.tuples] == list(range(n))


def test_rows_much_larger_than_the_others_still_fit_a_message() -> None:
    texts = ["x"] * 40 + ["y" * (5 << 20)] * 5 + ["x"] * 20_000
    table = pa.table({"stream": ["s"] * len(texts), "text": texts})
    frames = list(encode_frames(table, dataset="d", stream="stream", time=None, lanes=3))
    assert sum(frame.tuples for frame in frames) == len(texts)
    assert all(len(frame.payload) <= MOST_BYTES_A_FRAME for frame in frames)


def test_a_row_beyond_the_limit_is_refused(sde) -> None:
    with pytest.raises(BadInput, match="a row has"):
        sde.send_table("d", pa.table({"stream": ["s"], "t": ["y" * (16 << 20)]}))


@pytest.mark.parametrize(
    ("table", "columns", "says"),
    [
        ({"a": [1]}, {}, "stream='stream': expected a column, one of a"),
        ({"stream": ["s"]}, {"time": "at"}, "time='at': expected a column"),
        ({"stream": ["s"], "a": ["t"]}, {"stream": "a"}, "has a column 'stream' too"),
        ({"stream": ["s"], "at": ["noon"]}, {"time": "at"}, "column 'at'"),
        ({"stream": ["s"], "a": [[1]]}, {}, r"row 1: column 'a': \[1\]"),
        ({"stream": ["s"], "dataset": ["d"]}, {}, "has a column 'dataset'"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(sde, table, columns, says) -> None:
    with pytest.raises(BadInput, match=says):
        sde.send_table("d", pa.table(table), **columns)


def test_something_that_is_no_table_is_refused(sde) -> None:
    with pytest.raises(BadInput, match="DataFrame"):
        sde.send_table("d", [1, 2])


CSV = "StockID,at,price,code\nA,2024-01-01T12:00:00Z,1.5,007\nB,2024-01-01T12:00:00Z,,008\n"


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
def test_a_csv_file_becomes_tuples(sde, transport, tmp_path, suffix) -> None:
    path = tmp_path / f"ticks{suffix}"
    text = CSV.replace(",", "\t") if suffix == ".tsv" else CSV
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith(".gz") else text.encode())
    told = []
    sent = sde.send_file(
        "d", path, stream="StockID", time="at", progress=lambda *seen: told.append(seen)
    )
    assert sent == 2
    first, second = transport.tuples
    assert (first["stream"], first["time"]) == ("A", NOON_MS)
    assert (first["values"]["price"], second["values"]["price"]) == (1.5, None)
    assert first["values"]["code"] == "007"
    assert told[-1] == (2, 1.0)


def test_a_csv_column_may_change_its_type_far_into_the_file(sde, transport, tmp_path) -> None:
    path = tmp_path / "ticks.csv"
    n = 700_000  # several blocks
    lines = ["stream,x", *(f"s,{i}" for i in range(n)), "s,2.5", "s,many"]
    path.write_text("\n".join(lines) + "\n")
    assert sde.send_file("d", path) == n + 2
    values = [one["values"]["x"] for one in transport.tuples]
    assert values[:2] == [0, 1]
    assert values[-2:] == ["2.5", "many"]


def test_a_parquet_file_becomes_tuples(sde, transport, tmp_path) -> None:
    path = tmp_path / "ticks.parquet"
    parquet.write_table(pa.table({"stream": ["a", "b"], "x": [1, 2]}), path)
    told = []
    assert sde.send_file("d", path, progress=lambda *seen: told.append(seen)) == 2
    assert [one["values"] for one in transport.tuples] == [{"x": 1}, {"x": 2}]
    assert told == [(2, 1.0)]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.csv", b"stream,x\ns,1\ns,1,2\n", "Row #3: .*columns"),
        ("t.csv", b"", "empty, expected a first line with names"),
        ("t.csv", b"stream,x\ns,\xff\xfe\n", "UTF8"),
        ("t.parquet", b"no parquet", r"t\.parquet"),
        ("t.xlsx", b"", "expected a name ending in"),
        ("t.csv", b"stream,x,x\ns,1,2\n", "line 1: expected one column 'x'"),
        ("t.csv.gz", b"no gzip", r"t\.csv\.gz"),
        ("t.ndjson.gz", b"no gzip", r"t\.ndjson\.gz"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(sde, tmp_path, name, content, says) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=says):
        sde.send_file("d", tmp_path / name)


def test_a_file_bad_at_its_end_tells_how_much_of_it_was_sent(sde, transport, tmp_path) -> None:
    n = 700_000  # several blocks
    path = tmp_path / "ticks.csv"
    path.write_text("stream,x\n" + "".join(f"s,{i}\n" for i in range(n)) + "s,1,2\n")
    with pytest.raises(
        BadInput, match=r"Row #700002.*; [\d,]+ tuples had been sent before"
    ) as caught:
        sde.send_file("d", path)
    told = int(str(caught.value).split("; ")[-1].split()[0].replace(",", ""))
    assert told == len(transport.tuples) > 0


def test_a_missing_file_is_refused(sde, tmp_path) -> None:
    with pytest.raises(BadInput, match="expected a file"):
        sde.send_file("d", tmp_path / "none.csv")


# -- names and values of every form ---------------------------------------------------------------


def table_of(stream):
    return pd.DataFrame({"stream": [stream], "x": [1]})


WAYS = {
    "send": lambda sde, stream: sde.send("d", stream, {"x": 1}),
    "send_many": lambda sde, stream: sde.send_many("d", [(stream, {"x": 1})]),
    "send_table": lambda sde, stream: sde.send_table("d", table_of(stream)),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("stream", [7, np.int64(7), 7.0, "7"], ids=repr)
def test_a_whole_number_is_a_stream_by_its_digits(sde, transport, way, stream) -> None:
    way(sde, stream)
    assert transport.tuples == [{"dataset": "d", "stream": "7", "values": {"x": 1}}]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("stream", [None, True, 7.5, "", float("nan")], ids=repr)
def test_what_is_no_name_of_a_stream_is_refused(sde, transport, way, stream) -> None:
    with pytest.raises(BadInput, match="expected"):
        way(sde, stream)
    assert transport.data == []


@pytest.mark.parametrize(
    "value", [[1], (1, 2), {"a": 1}, {1, 2}, np.array([1.0]), b"x", Point(1, 2)], ids=repr
)
def test_a_nested_value_is_refused_with_its_row_and_field(sde, transport, value) -> None:
    with pytest.raises(BadInput, match="x"):
        sde.send("d", "s", {"x": value})
    with pytest.raises(BadInput, match="row 2: "):
        sde.send_many("d", [("s", {"x": 1}), ("s", {"x": value})])
    with pytest.raises(BadInput, match=r"row 2: column 'x': "):
        sde.send_table("d", pd.DataFrame({"stream": ["s", "s"], "x": [None, value]}))
    assert transport.data == []


@pytest.mark.parametrize("other", ["a", {"a": 1}, [1], 2**70], ids=repr)
def test_a_value_of_another_type_than_those_above_is_refused_with_its_row(sde, other) -> None:
    column = pd.Series([1, 2, None, other, "b"], dtype=object)
    with pytest.raises(BadInput, match=r"row 4: column 'x': .*expected"):
        sde.send_table("d", pd.DataFrame({"stream": ["s"] * 5, "x": column}))


def test_named_levels_of_an_index_are_columns(sde, transport) -> None:
    index = pd.MultiIndex.from_arrays([[NOON], ["s"], [3]], names=["time", "stream", None])
    sde.send_table("d", pd.DataFrame({"x": [1.5]}, index=index))
    times = pd.DatetimeIndex([NOON], name="time")
    sde.send_table("d", pd.DataFrame({"stream": ["s"], "x": [1.5]}, index=times))
    sent = {"dataset": "d", "stream": "s", "values": {"x": 1.5}, "time": NOON_MS}
    assert transport.tuples == [sent, sent]


def test_an_index_named_as_a_column_is_refused(sde) -> None:
    named = pd.Index([5], name="x")
    with pytest.raises(BadInput, match="both its index and a column are named 'x'; rename"):
        sde.send_table("d", pd.DataFrame({"stream": ["s"], "x": [1]}, index=named))


def test_values_that_are_no_mapping_are_refused(sde) -> None:
    with pytest.raises(BadInput, match="values=3: expected fields by their names"):
        sde.send("d", "s", 3)


def test_a_value_that_is_none_counts_as_missing(sde, transport) -> None:
    sde.send("d", "s", {"k": None})
    sde.send_table("d", pa.table({"stream": ["s"], "k": pa.array([None], pa.string())}))
    assert [one["values"] for one in transport.tuples] == [{"k": None}] * 2


def test_a_table_without_a_stream_in_a_row_names_the_row(sde, transport) -> None:
    with pytest.raises(BadInput, match="row 2: column 'stream' is empty"):
        sde.send_table("d", pa.table({"stream": ["a", None, "b"], "n": [0, 1, 2]}))
    assert transport.data == []


def test_a_table_without_a_time_in_a_row_names_the_row(sde, transport) -> None:
    times = pd.to_datetime(["2026-01-01", None])
    table = pd.DataFrame({"shop": ["a", "b"], "n": [1, 2], "time": times})
    with pytest.raises(BadInput, match=r"^row 2: column 'time' is empty, expected a time"):
        sde.send_table("Sales", table, stream="shop")
    assert transport.data == []


def test_what_was_sent_before_a_bad_row_is_told(sde, transport) -> None:
    rows = [("s", {"x": 1})] * 1500 + [(None, {"x": 1})]
    with pytest.raises(BadInput, match=r"row 1501: stream=None.*; 1,000 tuples had been sent"):
        sde.send_many("d", rows)
    assert len(transport.tuples) == 1000


# -- lines of JSON, and standard input ------------------------------------------------------------

LINES = b"""{"stream": "A", "price": 1.5, "time": 1704110400000}
{"dataset": "d", "stream": 7, "values": {"price": 2}, "time": "2024-01-01T12:00:00Z"}

{"stream": "B", "price": null, "time": "2024-01-01T12:00:00"}"""
TUPLES = [
    {"dataset": "d", "stream": "A", "values": {"price": 1.5}, "time": NOON_MS},
    {"dataset": "d", "stream": "7", "values": {"price": 2}, "time": NOON_MS},
    {"dataset": "d", "stream": "B", "values": {"price": None}, "time": NOON_MS},
]


@pytest.mark.parametrize("suffix", [".ndjson", ".jsonl", ".ndjson.gz"])
def test_a_file_of_json_lines_becomes_tuples(sde, transport, tmp_path, suffix) -> None:
    path = tmp_path / f"ticks{suffix}"
    path.write_bytes(gzip.compress(LINES) if suffix.endswith(".gz") else LINES)
    told = []
    assert sde.send_file("d", path, progress=lambda *seen: told.append(seen)) == 3
    assert transport.tuples == TUPLES
    assert told[-1] == (3, 1.0)


def test_fields_of_other_names_tell_stream_and_time(sde, transport, tmp_path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"StockID": "A", "at": "2024-01-01T14:00:00+02:00", "price": 1}')
    sde.send_file("d", path, stream="StockID", time="at")
    (one,) = transport.tuples
    assert (one["stream"], one["time"]) == ("A", NOON_MS)
    assert one["values"]["StockID"] == "A"


def test_standard_input_is_json_lines_or_csv(sde, transport) -> None:
    assert sde.send_file("d", io.BytesIO(LINES)) == 3
    assert transport.tuples == TUPLES
    csv = b"stream,time,price,code\n1.50,2024-01-01T12:00:00Z,1.5,007\n"
    assert sde.send_file("d", io.BytesIO(csv)) == 1
    values = {"price": 1.5, "code": "007"}
    expected = {"dataset": "d", "stream": "1.50", "time": NOON_MS, "values": values}
    assert transport.tuples[-1] == expected
    assert sde.send_file("d", io.BytesIO()) == 0


def test_lines_are_sent_as_they_come(sde, transport) -> None:
    class Slow(io.BytesIO):
        def read1(self, size=-1):
            seen.append(len(transport.tuples))
            return self.readline()

    seen = []
    sde.send_file("d", Slow(LINES))
    assert seen == [1, 2, 2, 2]  # one line is blank, the last one has no end
    assert len(transport.tuples) == 3


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"nonsense", "line 3: nonsense: expected a JSON object"),
        (b"[1]", "expected a JSON object"),
        (b'{"price": 1}', "line 3: 'stream': expected a field of this name"),
        (b'{"stream": null, "price": 1}', "line 3: stream=None: expected the name of a stream"),
        (b'{"stream": "s", "x": [1]}', r"line 3: values\['x'\]=\[1\]: expected a number"),
        (b'{"stream": "s", "dataset": "e"}', "line 3: dataset='e': expected 'd'"),
        (b'{"stream": "s", "values": {}, "x": 1}', "line 3: x: expected only dataset, stream"),
        (b'{"stream": "s", "time": "noon"}', "line 3: time='noon': expected milliseconds or ISO"),
        (b'{"stream": "s", "time": 1.5}', "line 3: time=1.5"),
    ],
)
def test_a_line_that_is_no_tuple_is_refused_with_its_number(sde, tmp_path, line, says) -> None:
    path = tmp_path / "t.ndjson"
    path.write_bytes(b'{"stream": "s", "x": 1}\n\n' + line + b"\n")
    with pytest.raises(BadInput, match=says):
        sde.send_file("d", path)


def test_a_line_of_csv_without_a_stream_is_refused_with_its_number(sde, tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("stream,x\ns,1\n,2\n")
    with pytest.raises(BadInput, match=r"t\.csv, line 3: column 'stream' is empty"):
        sde.send_file("d", path)
