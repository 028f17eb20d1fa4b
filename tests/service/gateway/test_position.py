"""Positions: what whoever wrote gets, sends back, and what else may come in their place."""

import pytest

from service.gateway.engine import DataWay
from service.gateway.position import LONGEST, Position, read_positions

TUPLES = '{"stream": "s", "trader": "ann"}\n'
NDJSON = {"Content-Type": "application/x-ndjson"}


class Noting:
    """A lane that answers nothing and notes what it is asked."""

    def __init__(self):
        self.asked = []

    async def reply(self, message, seconds, at_least):
        self.asked.append((message["op"], at_least))

    async def close(self):
        pass


@pytest.fixture
def lane():
    return Noting()


@pytest.fixture
def served(serve, lane):
    return serve(lane=lane)


def test_a_change_says_its_batch_and_a_question_says_none(served):
    made = served.create()
    assert made.headers["Sde-Position"] == f"batch={made.json()['batch']}"
    assert "Sde-Position" not in served.http.get("/v1/synopses/trades").headers
    assert "Sde-Position" not in served.create(key="stock").headers  # refused


def test_a_position_contains_the_one_that_was_sent_back(served):
    before = {"Sde-At-Least": "batch=9000;ticks:2=7"}
    body = {"dataset": "Forex", "kind": "count_min", "key": "trader"}
    made = served.http.put("/v1/synopses/trades", json=body, headers=before)
    assert made.headers["Sde-Position"] == "batch=9000;ticks:2=7"
    body["key"] = "stock"
    made = served.http.put("/v1/synopses/more", json=body, headers={"Sde-At-Least": "ticks:2=7"})
    assert made.headers["Sde-Position"] == f"batch={made.json()['batch']};ticks:2=7"


def test_whoever_wrote_a_moment_ago_and_says_nothing_sees_it(served, lane):
    batch = served.create().json()["batch"]
    sent = served.http.post("/v1/datasets/Forex/tuples", content=TUPLES, headers=NDJSON)
    question = {"query": {"key": "ann"}}
    for headers in ({}, {"Sde-At-Least": ""}, {"Sde-At-Least": "batch=0"}):
        served.http.post("/v1/synopses/trades/estimate", json=question, headers=headers)
    wrote, at_once, said = [at_least for op, at_least in lane.asked if op == "estimate"]
    assert wrote.batch == batch
    assert wrote.text == sent.headers.get("Sde-Position", f"batch={batch}")
    assert not at_once
    assert said == Position(0)


def test_questions_take_it_to_the_lane_alone_and_in_a_list(served, lane):
    served.create()
    headers = {"Sde-At-Least": "batch=2, sde-data:0=5"}
    question = {"query": {"key": "ann"}}
    served.http.post("/v1/synopses/trades/estimate", json=question, headers=headers)
    several = [{"uid": "trades", **question}, {"uid": "trades", **question}]
    served.http.post("/v1/estimates", json=several, headers=headers)
    expected = Position(2, {("sde-data", 0): 5})
    assert [at_least for op, at_least in lane.asked if op == "estimate"] == 3 * [expected]


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "batch=-1",
        "batch=1e3",
        "batch=" + "9" * 19,
        "batch=1;batch",
        "sde-data",
        "sde-data:0",
        "sde-data:0=",
        "sde-data:0=1:",
        "sde-data:-1=1",
        "../etc:0=1",
        "a b:0=1",
        "t" * 250 + ":0=1",
        "sde-data:0=١",
        "batch=1;" * (LONGEST // 8),
    ],
)
def test_what_is_no_position_is_refused_and_named(served, text):
    headers = [("Sde-At-Least", "batch=1"), ("Sde-At-Least", text.encode())]
    refused = served.http.get("/v1/synopses", headers=headers)
    assert (refused.status_code, refused.json()["field"]) == (422, "Sde-At-Least")
    assert len(refused.content) < 1000


def test_every_position_is_read_as_it_was_written():
    position = Position(3, {("a.b-c_d", 0): 5, ("a.b-c_d", 11): 10**17, ("z", 999_999_999): 0})
    assert read_positions([position.text]) == position
    assert read_positions(["", " , ;"]) == Position()


def test_a_way_for_tuples_says_how_far_it_delivered_and_begins_anew():
    told = []
    way = DataWay(told.append)
    for partition, offset in ((0, 4), (1, 2), (0, 3)):  # acknowledgements may overtake each other
        told[0]("sde-data", partition, offset)
    assert way.take_position().text == "sde-data:0=5:1=3"
    assert not way.take_position()
