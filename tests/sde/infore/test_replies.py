"""Replies as programs of INFORE and STELAR read them: shape and JSON types, worked out by hand."""

import json

import pytest

from sde.infore import answer_of, belongs_in_log, logging_message, reply_key
from tests.sde.infore.old_programs import PROGRAMS, UID, request

TIME = 1_550_556_434_000  # 19-02-2019 06:07:14 UTC


def native(op, value=None, **more):
    """A native reply as the engine makes it."""
    told = {} if value is None else {"value": value}
    return {
        "uid": str(UID),
        "id": "requests-0-17/3",
        "request": "requests-0-17",
        "op": op,
        "status": "ok",
        "dataset": "Forex",
        **told,
        "batch": 3,
        "site": "main",
        **more,
    }


def estimate(kind, value, **more):
    return native("estimate", value, kind=kind, tuples=9, since=5, **more)


FAULT = {
    "id": "requests-0-17/3",
    "request": "requests-0-17",
    "op": "estimate",
    "status": "error",
    "code": "bad_query",
    "message": "param[0]=None: expected a key",
    "field": "param[0]",
    "batch": 3,
    "site": "main",
}


def test_an_estimate_has_the_old_fields_with_the_old_types_and_ours():
    message = request(3, param=["A"], externalUID="abc", unknown=1)
    reply = estimate("count_min", 2.0, lower=1.5, upper=2.0, confidence=0.95)
    assert answer_of(message, reply) == {
        "estimation": 2.0,
        "key": "1110",
        "estimationkey": "1110",
        "requestID": 3,
        "synopsisID": 1,
        "uid": 1110,
        "streamID": "INTEL",
        "param": ["A"],
        "noOfP": 4,
        "dataSetkey": "Forex",
        "relatedRequestIdentifier": "abc",
        "lower": 1.5,
        "upper": 2.0,
        "confidence": 0.95,
        "tuples": 9,
        "since": 5,
        "batch": 3,
        "site": "main",
    }
    assert reply_key(message) == "1110"


def test_a_fault_has_the_old_fields_and_tells_the_error():
    told = answer_of(request(3), FAULT)
    assert told["estimation"] is None
    assert told["error"] == "param[0]=None: expected a key"
    assert (told["code"], told["field"]) == ("bad_query", "param[0]")
    assert (told["uid"], told["requestID"], told["noOfP"]) == (1110, 3, 4)


RECORDS = [
    {"key": "EURUSD", "value": 1.07, "time": 10},
    {"key": "GBPUSD", "value": 1.27, "time": 20},
]
POINTS = [{"point": [1.0, 2.0], "weight": 3.0}]
ITEMS = [{"key": "EURUSD", "value": 9.0, "lower": 8.0, "upper": 9.0}]
PAIRS = [["EURUSD", "GBPUSD", 0.98, 0.97, 0.99]]
ESTIMATIONS = [
    (1, "count_min", 2.0, 2.0),
    (2, "bloom", True, True),
    (2, "bloom", False, False),
    (3, "ams", 3.0, 3.0),
    (4, "dft", PAIRS, PAIRS),
    (5, "lsh", PAIRS, PAIRS),
    (6, "coreset", POINTS, POINTS),
    (7, "hyperloglog", 1000.5, 1000.5),
    (8, "sticky_sampling", 2.0, 2.0),
    (9, "lossy_counting", 2.0, 2.0),
    (10, "sample", RECORDS, [1.07, 1.27]),
    (11, "quantiles", 110.11, 110.11),
    (13, "top_k", ITEMS, ITEMS),
    (14, "sample", RECORDS, RECORDS),
    (15, "sample", RECORDS, RECORDS),
    (16, "quantiles", 110.11, 110.11),
]


@pytest.mark.parametrize(("number", "kind", "value", "expected"), ESTIMATIONS)
@pytest.mark.parametrize("request_id", [1, 3])
def test_the_estimation_has_the_type_it_had(number, kind, value, expected, request_id):
    told = answer_of(request(request_id, number), estimate(kind, value))
    assert told["estimation"] == expected
    assert type(told["estimation"]) is type(expected)
    assert (told["requestID"], told["synopsisID"]) == (request_id, number)


def test_every_synopsis_is_in_the_table_of_estimations():
    assert {row[0] for row in ESTIMATIONS} | {12} == set(PROGRAMS)


@pytest.mark.parametrize(("time", "seconds"), [(60_000, 60), (60_500, 60.5)])
def test_a_position_kept_has_the_names_it_came_with(time, seconds):
    kept = {"time": time, "latitude": 37.9, "longitude": 23.6, "course": 180.0, "speed": 9.5}
    told = answer_of(request(3, 12, param=["s1"]), estimate("trajectory", kept, stream="s1"))
    assert told["estimation"] == {
        "t": seconds,
        "shipid": "s1",
        "lat": 37.9,
        "lon": 23.6,
        "course": 180.0,
        "speed": 9.5,
    }
    assert told["estimationkey"] == "1110"


def test_nothing_to_estimate_is_null():
    assert answer_of(request(3, 11), estimate("quantiles", None))["estimation"] is None
    assert answer_of(request(3, 12), estimate("trajectory", None, stream="s"))["estimation"] is None


# -- continuous answers ---------------------------------------------------------------------------


def test_a_continuous_answer_names_the_item_and_counts():
    reply = native("watch", 2.0, kind="count_min", number=7, key="EURUSD", lower=1.9, upper=2.0)
    told = answer_of(request(5, param=PROGRAMS[1].add), reply)
    assert (told["estimation"], told["estimationkey"], told["key"]) == (2.0, "EURUSD", "1110")
    assert (told["requestID"], told["number"], told["lower"]) == (5, 7, 1.9)
    assert not belongs_in_log(request(5), reply)


def test_a_continuous_answer_about_a_ship_names_the_ship():
    kept = {"time": 1000, "latitude": 1.0, "longitude": 2.0, "course": 3.0, "speed": 4.0}
    reply = native("watch", kept, kind="trajectory", number=1, stream="s1")
    told = answer_of(request(5, 12), reply)
    assert (told["estimationkey"], told["estimation"]["shipid"]) == ("s1", "s1")


def test_the_end_of_continuous_answers_is_told():
    reply = native("watch", number=8, ended="the synopsis was deleted")
    told = answer_of(request(5), reply)
    assert (told["estimation"], told["ended"]) == (None, "the synopsis was deleted")
    logged = logging_message(request(5), reply, TIME)
    assert (logged["messageType"], logged["content"]) == ("LOG", "the synopsis was deleted")


# -- acknowledgements, lists, snapshots -----------------------------------------------------------

VERSIONS = [
    {"uid": "1110", "version": "1", "dataset": "Forex", "kind": "ams", "at": 1, "bytes": 9},
    {"uid": "1110", "version": "2", "dataset": "Forex", "kind": "ams", "at": 2, "bytes": 9},
]
SYNOPSES = [
    {"uid": "1110", "dataset": "Forex", "kind": "count_min", "tuples": 3},
    {"uid": "named", "dataset": "Crypto", "kind": "moments", "tuples": 3},
    {"uid": "1111", "dataset": "Forex", "kind": "bloom", "tuples": 3},
]
DONE = [
    (1, native("create", kind="ams"), "Maintaining synopsis of type AMSsynopsis with UID: 1110"),
    (4, native("create", kind="bloom"), "Maintaining synopsis of type Bloomfilter with UID: 1110"),
    (5, native("watch"), "Maintaining synopsis with UID: 1110"),
    (5, native("create", kind="fm"), "Maintaining synopsis of type fm with UID: 1110"),
    (7, native("create", kind="lsh"), "Maintaining synopsis of type LSHsynopsis with UID: 1110"),
    (2, native("delete", kind="ams"), "Deleted synopsis of type AMSsynopsis with UID: 1110"),
    (100, native("snapshot", "1"), "Snapshot of synopsis with UID: 1110 Version: v0"),
    (101, native(None), "Acknowledged"),
    (200, native("restore", "5"), "Loaded snapshot of synopsis with UID: 1110 Version: v4"),
    (201, native("restore", "1"), "Loaded snapshot of synopsis with UID: 1110 Version: v0"),
    (
        202,
        native("restore", "1", uid="95000", kind="ams"),
        "Loaded snapshot of synopsis of type AMSsynopsis with UID: 1110 Version: v0 as UID: 95000",
    ),
    (301, native("snapshots", VERSIONS), "[syn_1110_Forex_v1, syn_1110_Forex_v0]"),
    (301, native("snapshots", []), "[]"),
    (
        1000,
        native("list", SYNOPSES),
        {
            "Forex": [
                {"id": 1110, "type": "CountMin", "parallelism": 4, "key": "Forex"},
                {"id": 1111, "type": "Bloomfilter", "parallelism": 4, "key": "Forex"},
            ],
            "Crypto": [{"id": "named", "type": "moments", "parallelism": 4, "key": "Crypto"}],
        },
    ),
]


@pytest.mark.parametrize(("request_id", "reply", "content"), DONE)
def test_what_was_done_is_told_in_the_log_or_in_an_answer(request_id, reply, content):
    message = request(request_id, param=[0, 95000], externalUID="abc")
    assert belongs_in_log(message, reply)
    assert logging_message(message, reply, TIME) == {
        "timestamp": "19-02-2019 06:07:14",
        "key": "Forex",
        "parallelism": 4,
        "relatedRequestIdentifier": "abc",
        "messageType": "RESPONSE",
        "content": content,
        "requestTypeID": request_id,
    }
    told = answer_of(message, reply)
    assert (told["estimation"], told["requestID"]) == (content, request_id)
    json.dumps(told)


@pytest.mark.parametrize("request_id", [1, 2, 4, 5, 7, 100, 101, 200, 201, 202, 301, 1000])
def test_a_fault_in_the_log_is_an_error(request_id):
    message, reply = request(request_id, externalUID="abc"), {**FAULT, "op": None}
    assert belongs_in_log(message, reply)
    logged = logging_message(message, reply, TIME)
    assert (logged["messageType"], logged["content"]) == ("ERROR", FAULT["message"])


@pytest.mark.parametrize("request_id", [3, "3", 6])
def test_who_asks_for_an_estimate_reads_its_fault_where_the_estimate_would_be(request_id):
    assert not belongs_in_log(request(request_id), {**FAULT, "op": None})


def test_an_estimate_that_came_as_an_add_is_no_matter_of_the_log():
    assert not belongs_in_log(request(1), estimate("count_min", 2.0))


# -- what comes back of a request ------------------------------------------------------------------


def test_credentials_are_told_to_nobody():
    message = request(101, param=["sts", "access", "very secret", "token", "endpoint"])
    told = [answer_of(message, native(None)), logging_message(message, native(None), TIME)]
    assert "secret" not in json.dumps(told)


@pytest.mark.parametrize(
    ("given", "echoed"),
    [
        ({"noOfP": "2"}, {"noOfP": 2}),
        ({"noOfP": None}, {"noOfP": 0}),
        ({"noOfP": []}, {"noOfP": 0}),
        ({"uid": "1110"}, {"uid": 1110, "key": "1110"}),
        ({"uid": 2**63}, {"uid": 2**63, "key": str(2**63)}),
        ({"uid": None}, {"uid": None, "key": "", "estimationkey": ""}),
        ({"uid": {}}, {"uid": None, "key": ""}),
        ({"streamID": None}, {"streamID": None}),
        ({"streamID": 7}, {"streamID": "7"}),
        ({"param": None}, {"param": []}),
        ({"param": "a"}, {"param": []}),
        ({"param": ["a", 1, 0.5, None, []]}, {"param": ["a", "1", "0.5", None, None]}),
        ({"synopsisID": "1"}, {"synopsisID": 1}),
        ({"synopsisID": None}, {"synopsisID": None}),
        ({"externalUID": 12}, {"relatedRequestIdentifier": "12"}),
        ({}, {"relatedRequestIdentifier": None}),
        ({"dataSetkey": None, "key": "K"}, {"dataSetkey": "K"}),
        ({"dataSetkey": None}, {"dataSetkey": "Forex"}),
    ],
)
def test_fields_come_back_with_the_types_they_had(given, echoed):
    told = answer_of(request(3, **given), estimate("count_min", 2.0))
    assert {name: told[name] for name in echoed} == echoed


@pytest.mark.parametrize(
    ("time", "written"),
    [(0, "01-01-1970 00:00:00"), (-5, "01-01-1970 00:00:00"), (2**62, "31-12-9999 23:59:59")],
)
def test_any_kafka_time_can_be_written(time, written):
    assert logging_message(request(2), native("delete"), time)["timestamp"] == written
