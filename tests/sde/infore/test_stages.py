"""The dialect through the three stages: what such a program reads from its topics."""

import pytest

from sde.testing import LocalEngine


def add(request_id=1, uid=1110, **fields):
    param = ["StockID", "null", "Queryable", "0.01", "0.99", "4"]
    return {
        "dataSetkey": "Forex",
        "requestID": request_id,
        "synopsisID": 1,
        "uid": uid,
        "streamID": "INTEL",
        "param": param,
        "noOfP": 4,
        "externalUID": f"x-{uid}",
        **fields,
    }


def ticks(*stocks):
    return [
        {"dataSetkey": "Forex", "streamID": s, "values": {"StockID": s, "price": "1.5"}}
        for s in stocks
    ]


@pytest.fixture
def engine():
    return LocalEngine(shards=3)


def test_an_add_is_acknowledged_and_an_estimate_has_the_old_shape(engine):
    (acknowledged,) = engine.replies([add()])
    assert acknowledged["estimation"] == "Maintaining synopsis of type CountMin with UID: 1110"
    engine.replies(data=ticks("A", "B", "A"))
    (answer,) = engine.replies([add(3, param=["A"])])
    assert answer["estimation"] == 2.0
    assert {n: answer[n] for n in ("key", "estimationkey", "requestID", "synopsisID", "uid")} == {
        "key": "1110",
        "estimationkey": "1110",
        "requestID": 3,
        "synopsisID": 1,
        "uid": 1110,
    }
    assert (answer["param"], answer["noOfP"], answer["tuples"]) == (["A"], 4, 3)
    assert answer["relatedRequestIdentifier"] == "x-1110"


def test_an_estimate_sent_as_an_add_is_answered(engine):
    engine.replies([add()], ticks("A", "A"))
    (answer,) = engine.replies([add(1, param=["A"])])
    assert answer["estimation"] == 2.0


def test_a_short_param_is_refused_by_its_entry_and_nothing_stops(engine):
    refused, kept = engine.replies([add(uid=1, param=["StockID"]), add(uid=2)])
    assert (refused["estimation"], refused["field"]) == (None, "param[1]")
    assert "Maintaining" in kept["estimation"]


def test_credentials_are_acknowledged(engine):
    (told,) = engine.replies([add(101)])
    assert (told["estimation"], told["param"]) == ("Acknowledged", [])


def test_a_continuous_add_answers_once_for_each_key_of_a_batch(engine):
    engine.replies([add(5)])
    first = [*engine.replies(data=ticks("A", "B", "A", "C")), *engine.settle()]
    second = [*engine.replies(data=ticks("A")), *engine.settle()]
    assert [(r["estimationkey"], r["estimation"]) for r in first] == [("A", 2), ("B", 1), ("C", 1)]
    assert [(r["estimationkey"], r["estimation"]) for r in second] == [("A", 3)]
    assert engine.replies() == []
    numbers = [r["number"] for r in first + second]
    assert numbers == sorted(set(numbers))
    (deleted,) = [r for r in engine.replies([add(2)]) if "ended" not in r]
    assert "Deleted" in deleted["estimation"]
    assert engine.replies(data=ticks("A")) == []


def test_a_continuous_maritime_synopsis_tells_the_position_of_each_ship(engine):
    param = ["shipid", "null", "Queryable", "60", "100", "1", "5"]
    engine.replies([add(5, synopsisID=12, param=param)])
    rows = [
        {
            "dataSetkey": "Forex",
            "streamID": ship,
            "values": {"t": str(t), "lat": "37.9", "lon": "23.6", "course": "180", "speed": "9"},
        }
        for ship, t in (("s1", 1000), ("s2", 1000))
    ]
    told = engine.replies(data=rows)
    assert sorted((r["estimationkey"], r["estimation"]["t"]) for r in told) == [
        ("s1", 1000),
        ("s2", 1000),
    ]


def test_what_is_no_estimate_goes_to_the_log_if_there_is_one():
    (written,) = LocalEngine(has_log=True).written([add()])
    assert (written.topic, written.key) == ("log", "1110")
