"""Answers and lists as plots and as Arrow tables."""

import asyncio
import subprocess
import sys

import matplotlib
import numpy as np
import pyarrow as pa
import pytest

from clients import Answer, AsyncClient, BadInput, Client, Record, Records
from sde.testing import LocalTransport

matplotlib.use("agg")
from matplotlib import pyplot

START = 1_700_000_000_000


@pytest.fixture(autouse=True)
def figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def transport():
    return LocalTransport()


@pytest.fixture(scope="module")
def sde(transport):
    with Client(transport) as sde:
        rng = np.random.default_rng(3)
        prices = rng.normal(100, 10, 400)
        sde.create("count_min", dataset="d", uid="counts", key="k", epsilon=0.1)
        sde.create("quantiles", dataset="d", uid="each", value="v", scope="stream")
        edges = {"low": 50, "high": 150, "buckets": 10}
        sde.create("histogram", dataset="d", uid="histogram", value="v", **edges)
        sde.create("top_k", dataset="d", uid="top", key="k", value="v", k=3)
        rows = [(f"s{n % 3}", {"k": "abc"[n % 3], "v": v}) for n, v in enumerate(prices)]
        sde.send_many("d", rows)
        yield sde


def bars(axes):
    """Lower end, value and upper end of each point."""
    points, _, (lines,) = axes.containers[0]
    ends = [[y for _, y in segment] for segment in lines.get_segments()]
    return [(low, y, high) for y, (low, high) in zip(points.get_ydata(), ends, strict=True)]


def labels(axes):
    return [each.get_text() for each in axes.get_xticklabels()]


def test_an_answer_is_a_point_with_its_bounds(sde):
    answer = sde.estimate("counts", key="a")
    assert bars(answer.plot()) == [(answer.lower, answer.value, answer.upper)]


def test_answers_of_streams_are_points_with_their_names_and_bounds(sde):
    answers = sde.estimate_streams("each", q=0.5)
    axes = answers.plot()
    assert bars(axes) == [(each.lower, each.value, each.upper) for each in answers]
    assert labels(axes) == ["s0", "s1", "s2"]


def test_keys_are_the_names_of_their_values(sde):
    answer = sde.estimate("top")
    axes = answer.plot()
    assert labels(axes) == [row.key for row in answer.records]
    assert [value for _, value, _ in bars(axes)] == [row.value for row in answer.records]


def test_a_histogram_is_bars_between_its_edges(sde):
    answer = sde.estimate("histogram")
    (stairs,) = answer.plot().patches
    values, edges, _ = stairs.get_data()
    assert (list(values), list(edges)) == (answer.value, answer.details["edges"])


def test_a_watch_is_a_line_with_a_band(sde, transport):
    with sde.watch("counts", key="a", every="1s") as answers:
        for second in range(1, 6):
            transport.tick(START + 1000 * second)
        axes = answers.plot(5)
    (line,) = axes.lines
    assert list(line.get_xdata()) == [1, 2, 3, 4, 5]
    (band,) = axes.collections
    answer = sde.estimate("counts", key="a")
    heights = {y for _, y in band.get_paths()[0].vertices}
    assert {answer.lower, answer.upper} <= heights


def test_a_watch_is_drawn_from_an_event_loop():
    transport = LocalTransport()

    async def draw():
        async with AsyncClient(transport) as sde:
            await sde.create("count_min", dataset="d", uid="counts", key="k")
            async with sde.watch("counts", key="a", every="1s") as answers:
                for second in (1, 2):
                    transport.tick(START + 1000 * second)
                return await answers.plot(2)

    assert len(asyncio.run(draw()).lines[0].get_xdata()) == 2


def test_a_column_of_a_list_is_drawn_into_axes_that_are_given(sde):
    _, axes = pyplot.subplots()
    assert sde.list().plot("tuples", axes=axes) is axes
    assert labels(axes)[0].startswith("counts")


def test_bounds_on_the_wrong_side_of_a_value_by_a_rounding_are_drawn():
    assert bars(Answer(value=1.0, lower=1.1, upper=0.9, raw={}).plot()) == [(1.0, 1.0, 1.0)]


def test_what_cannot_be_drawn_is_refused_with_what_can(sde):
    with pytest.raises(BadInput, match=r"column 'value' has no numbers.* one of tuples, bytes"):
        Records([Record(uid="u", tuples=3, bytes=4)]).plot()
    with pytest.raises(BadInput, match="expected rows with some"):
        Records().plot()


def test_plots_without_matplotlib_name_the_extra_to_install():
    code = """
import sys
sys.modules["matplotlib"] = None
import clients
try:
    clients.Answer(value=1.0, raw={}).plot()
except clients.MissingExtra as error:
    print(error)
"""
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert "plots need it: pip install 'synopses-data-engine[plots]'" in printed


def test_lists_and_answers_become_arrow_tables(sde):
    top = sde.estimate("top")
    table = top.to_arrow()
    assert table.column_names == top.records.columns
    assert table["key"].to_pylist() == [row.key for row in top.records]
    assert sde.estimate_streams("each", q=0.5).to_arrow()["value"].type == pa.float64()
    listed = sde.list().to_arrow()
    assert listed["tuples"].to_pylist() == [400] * 4
    assert pa.types.is_timestamp(listed["since"].type)
    empty = sde.watches()
    assert (len(empty), empty.to_arrow().column_names) == (0, empty.columns)


def test_a_column_of_several_types_becomes_texts():
    made = Records([Record(scope="dataset"), Record(scope={"stream": "s"}), Record(scope=None)])
    assert made.to_arrow()["scope"].to_pylist() == ["dataset", '{"stream":"s"}', None]
