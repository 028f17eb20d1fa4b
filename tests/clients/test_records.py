"""Answers and lists as records: named rows, times, pandas, Jupyter."""

import subprocess
import sys
from datetime import UTC, datetime

import pandas as pd
import pytest

from clients import Answer, Client, Description, InMemoryTransport, Interval, PluginInfo, Records
from clients.descriptions import SnapshotInfo
from sde.testing import LocalTransport

START = 1_700_000_000_000
START_TIME = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.fixture
def sde() -> Client:
    return Client(LocalTransport(), timeout=0.0)


def test_times_are_datetimes_beside_their_milliseconds() -> None:
    window = Interval(START, START + 1500)
    assert window.start_time == START_TIME
    assert (window.end_time - window.start_time).total_seconds() == 1.5
    assert Interval(START, 10**18).end_time is None  # beyond the years there are
    assert Description.of({"since": START}).since_time == START_TIME
    assert SnapshotInfo.of({"at": START}).at_time == START_TIME
    assert PluginInfo.of({"added": START}).added_time == START_TIME
    assert PluginInfo.of({}).added_time is None


def test_the_window_of_an_answer_has_datetimes(sde) -> None:
    counts = sde.create("count_min", dataset="d", key="k", window="5m")
    sde.send("d", "s", {"k": "a"}, START)
    answer = counts.estimate(key="a")
    assert answer.window.start_time <= START_TIME < answer.window.end_time
    assert answer.window.end - answer.window.start == 300_000


def test_a_sample_comes_as_named_records(sde) -> None:
    sample = sde.create("sample", dataset="d", key="k", value="v")
    sde.send("d", "s", {"k": "ann", "v": 2.5}, START)
    (record,) = sample.estimate().records
    assert (record.key, record.value, record.time) == ("ann", 2.5, START_TIME)
    assert record["key"] == "ann"
    with pytest.raises(AttributeError, match="expected one of key, value, time"):
        _ = record.keyy


def correlated(sde) -> Answer:
    moves = sde.create("dft", dataset="d", value="v", scope="stream", window=20, basic_window=10)
    for i in range(60):
        for stream in ("a", "b"):
            sde.send("d", stream, {"v": float(i * i % 7)}, START + i * 1000)
    return moves.estimate("pairs", threshold=0.8)


def test_pairs_come_as_named_records(sde) -> None:
    answer = correlated(sde)
    (pair,) = answer.records
    assert {pair.a, pair.b} == {"a", "b"}
    assert pair.lower <= pair.correlation <= pair.upper
    assert answer.value[0][:2] == [pair.a, pair.b]  # as on the wire


def test_answers_become_data_frames(sde) -> None:
    frame = correlated(sde).to_pandas()
    assert list(frame.columns) == ["a", "b", "correlation", "lower", "upper"]
    best = sde.create("top_k", dataset="e", key="k", value="v")
    values = sde.create("quantiles", dataset="e", value="v")
    rows = [("s", {"k": "ann", "v": 2.0}), ("s", {"k": "bob", "v": 5.0})]
    sde.send_many("e", rows)
    assert best.estimate().to_pandas()["key"].tolist() == ["bob", "ann"]
    cdf = values.estimate("cdf", points=[2, 5]).to_pandas()
    assert cdf.to_dict("list") == {"value": [0.5, 1.0], "lower": [0.5, 1.0], "upper": [0.5, 1.0]}
    one = values.estimate(q=0.5).to_pandas()
    assert one.to_dict("list") == {"value": [2.0], "lower": [2.0], "upper": [2.0]}


def test_times_in_a_data_frame_are_datetimes(sde) -> None:
    sample = sde.create("sample", dataset="d", key="k")
    sde.send("d", "s", {"k": "ann"}, START)
    frame = sample.estimate().to_pandas()
    assert frame["time"].tolist() == [pd.Timestamp(START_TIME)]


def test_lists_become_data_frames(sde) -> None:
    sde.create("count_min", dataset="d", uid="a", key="k")
    sde.create("moments", dataset="e", uid="b", value="v", scope="stream")
    frame = sde.list().to_pandas()
    assert frame[["uid", "kind", "dataset"]].values.tolist() == [
        ["a", "count_min", "d"],
        ["b", "moments", "e"],
    ]
    assert "idle" not in frame  # nobody has it
    assert "count_min" in set(sde.kinds().to_pandas()["kind"])
    assert sde.plugins() == ()


def test_without_pandas_the_extra_to_install_is_named() -> None:
    code = """
import sys
sys.modules["pandas"] = None
import clients
try:
    clients.Answer.of({"value": 1.0}).to_pandas()
except clients.MissingExtra as error:
    print(error)
"""
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert "pandas is not installed" in printed
    assert "pip install 'synopses-data-engine[tables]'" in printed


def test_jupyter_shows_tables_with_bounds() -> None:
    answer = Answer.of(
        {"value": 1234567.0, "lower": 0.0012, "upper": 2e6, "confidence": 0.99, "tuples": 5000}
    )
    shown = answer._repr_html_()
    for text in ("<th>lower</th>", "1,234,567", "0.0012", "2,000,000", "confidence 0.99", "5,000"):
        assert text in shown


def test_what_comes_from_outside_is_escaped_in_jupyter() -> None:
    told = {"uid": "<b>u</b>", "kind": "fm", "dataset": "d", "tuples": 12345}
    listed = Client(InMemoryTransport(lambda request: {"value": [told]})).list()
    assert "&lt;b&gt;u&lt;/b&gt;" in listed._repr_html_()
    assert "<b>" not in listed._repr_html_()
    assert "12,345" in listed._repr_html_()
    assert "<script>" not in Answer.of({"value": [{"<script>": 1}]})._repr_html_()


def test_a_handle_tells_what_it_is_without_asking() -> None:
    transport = InMemoryTransport()
    sde = Client(transport)
    made = sde.create("count_min", dataset="Forex", uid="trades", key="k")
    asked = len(transport.requests)
    assert repr(made) == "<synopsis trades, count_min of Forex>"
    assert repr(sde.synopsis("trades")) == "<synopsis trades>"
    assert made == sde.synopsis("trades")
    assert len(transport.requests) == asked


def test_a_description_and_an_answer_can_be_read() -> None:
    told = {"uid": "u", "kind": "fm", "dataset": "d", "scope": {"stream": "EURUSD"}}
    figures = {"tuples": 1234567, "bytes": 2048, "window": {"size": "5m"}, "state": "quarantined"}
    assert repr(Description.of({**told, **figures})) == (
        "<synopsis u: fm of d, scope stream=EURUSD, window 5m, 1,234,567 tuples, 2.05 kB,"
        " quarantined>"
    )
    assert repr(Answer.of({"value": 0, "tuples": 3})) == "Answer(value=0, tuples=3)"


def test_every_answer_of_the_library_has_records(sde) -> None:
    summary = sde.create("moments", dataset="d", value="v")
    sde.send_many("d", [("s", {"v": 1.0}), ("s", {"v": 3.0})])
    assert summary.estimate().records[0]["mean"] == 2.0
    assert Answer.of({"value": [[1, 2], [3, 4]]}).records[1] == {"0": 3, "1": 4}
    assert Answer.of({"value": []}).records == ()


def windowed_streams(sde) -> Records[Answer]:
    summary = sde.create("moments", dataset="d", value="v", scope="stream", window="5m")
    sde.send_many("d", [(stream, {"v": 2.0}, START) for stream in ("a", "b")])
    return summary.estimate_streams()


def test_answers_of_streams_are_a_table_with_the_parts_of_their_values(sde) -> None:
    answers = windowed_streams(sde)
    assert answers.columns[:3] == ["stream", "count", "sum"]
    assert not {"value", "missing", "window"} & {*answers.columns}  # nothing is in them
    frame = answers.to_pandas()
    assert frame["stream"].tolist() == ["a", "b"]
    assert frame["mean"].tolist() == [2.0, 2.0]
    assert "<td>a</td>" in answers._repr_html_()


def test_windows_of_answers_are_two_columns_of_datetimes(sde) -> None:
    answers = windowed_streams(sde)
    frame = answers.to_pandas()
    assert frame["start"].tolist() == [pd.Timestamp(answers[0].window.start_time)] * 2
    assert frame["end"].tolist() == [pd.Timestamp(answers[0].window.end_time)] * 2
    assert "2023-11-14T22:10:00Z" in answers._repr_html_()


def test_a_table_of_an_answer_carries_its_window_and_warnings(sde, tmp_path) -> None:
    counts = sde.create("count_min", dataset="d", key="k", window="5m")
    sde.send_many("d", [("s", {"k": "a"}, START), ("s", {"v": 1.0}, START)])
    frame = counts.estimate(key="a").to_pandas()
    assert frame.attrs["window"] == ["2023-11-14T22:10:00Z", "2023-11-14T22:15:00Z"]
    assert "'k'" in frame.attrs["warnings"][0]
    frame.to_parquet(tmp_path / "kept.parquet")  # refuses attributes that JSON has not


def test_warnings_are_a_column_of_a_list_of_answers() -> None:
    answers = Records([Answer.of({"stream": "a", "value": None, "warnings": ["late"]})])
    assert answers.to_pandas().to_dict("records") == [
        {"stream": "a", "value": None, "warnings": ["late"]}
    ]


def test_empty_lists_keep_their_columns(sde) -> None:
    assert sde.list().to_pandas()[["uid", "kind", "tuples"]].empty
    assert sde.watches().to_pandas()[["watch", "due"]].empty
    assert Answer.of({"value": []}, ("a", "b")).to_pandas().columns.tolist() == ["a", "b"]
    assert "no rows" in sde.list()._repr_html_()


def test_an_answer_without_a_value_has_a_column_for_it(sde) -> None:
    frame = sde.create("quantiles", dataset="d", value="v").estimate(q=0.5).to_pandas()
    assert frame["value"].tolist() == [None]


def test_a_watch_is_due_at_a_datetime(sde) -> None:
    counts = sde.create("count_min", dataset="d", key="k")
    counts.watch(key="a", every="1s")
    (due,) = sde.watches().to_pandas()["due"]
    assert due > pd.Timestamp(START_TIME)


def test_an_answer_shows_the_details_of_its_question(sde) -> None:
    ages = sde.create("histogram", dataset="d", value="v", low=0, high=10, buckets=2)
    sde.send("d", "s", {"v": 11.0})
    answer = ages.estimate("counts")
    assert (answer.details["edges"], answer.details["above"]) == ([0.0, 5.0, 10.0], 1)
    assert "'above': 1" in repr(answer)
    assert "above 1" in answer._repr_html_()


def test_a_description_has_the_figures_of_what_was_left_out(sde) -> None:
    sums = sde.create("moments", dataset="d", value="v", window="1s")
    sde.send_many("d", [("s", {"v": 1.0}, START), ("s", {"w": 1.0}, START)])
    described = sums.describe()
    assert (described.tuples, described.skipped, described.late_dropped) == (1, 1, 0)
    assert described.shed == described.untimed == described.future_dropped == 0
    assert described.to_pandas()["since"].tolist() == [pd.Timestamp(described.since_time)]
    assert "<td>late_dropped</td>" in described._repr_html_()
    assert Description.of({"watermark": START}).to_pandas()["watermark"][0] == START_TIME


def test_counts_of_buckets_stand_between_their_edges(sde) -> None:
    ages = sde.create("histogram", dataset="d", value="v", low=0, high=10, buckets=2)
    sde.send_many("d", [("s", {"v": value}) for value in (1.0, 2.0, 7.0)])
    frame = ages.estimate("counts").to_pandas()
    assert frame.to_dict("records") == [
        {"lower": 0.0, "upper": 5.0, "count": 2},
        {"lower": 5.0, "upper": 10.0, "count": 1},
    ]
