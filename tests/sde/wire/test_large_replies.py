"""A reply that its topic does not take becomes a fault for the same request."""

import json

from sde.testing import LocalEngine
from sde.wire.replies import reply_in_place_of

LARGE = "x" * 100_000


def in_place_of(**fields):
    return json.loads(reply_in_place_of(json.dumps(fields).encode()))


def test_the_fault_has_the_id_of_the_request():
    found = in_place_of(
        id="r/17", request="r", op="export", status="ok", uid="u", value=LARGE, batch=17, site="a"
    )
    assert found["message"].endswith(
        "more than the topic takes: keep a version with `snapshot` in place of it, or set the "
        "topic's max.message.bytes"
    )
    del found["message"]
    assert found == {
        "id": "r/17",
        "request": "r",
        "op": "export",
        "uid": "u",
        "batch": 17,
        "site": "a",
        "status": "error",
        "code": "too_large",
    }


def test_the_fault_of_a_watch_has_the_number_of_the_answer():
    found = in_place_of(id="w#3", request="w", op="watch", number=3, status="ok", value=LARGE)
    assert (found["request"], found["number"], found["code"]) == ("w", 3, "too_large")


def test_the_fault_in_the_dialect_of_infore_is_in_that_dialect():
    engine = LocalEngine()
    asked = {"requestID": 3, "uid": 7, "key": "d", "synopsisID": 1, "param": ["a"], "noOfP": 1}
    (reply,) = engine.replies([asked])
    found = in_place_of(**{**reply, "estimation": LARGE})
    assert found["estimation"] is None
    assert found["code"] == "too_large"
    assert (found["requestID"], found["uid"], found["key"]) == (3, 7, "7")


def test_the_fault_in_the_log_of_infore_is_an_error_there():
    found = in_place_of(messageType="RESPONSE", content=LARGE, relatedRequestIdentifier="x")
    assert (found["messageType"], found["relatedRequestIdentifier"]) == ("ERROR", "x")
    assert "more than the topic takes" in found["content"]


def test_what_is_no_reply_has_none_in_its_place():
    assert reply_in_place_of(b"SDEA\x00") is None
    assert reply_in_place_of(b'{"op": "progress"}') is None
    assert reply_in_place_of(b"[1]") is None
