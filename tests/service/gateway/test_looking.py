"""Status, batches and dead letters over HTTP: what is seen beside the engine's replies."""

import base64
import hashlib
import json

import pytest

from clients.address import EngineFolder
from sde.wire.status import STATUS_FILE, EngineStatus, decode_status, encode_status
from service.gateway.beside import Beside
from service.http_settings import HttpToken
from tests.service.gateway.test_asking import problem

STATUS = EngineStatus(
    pid=7,
    host="a-host",
    site="athens",
    state="running",
    since=1,
    written=2,
    bootstrap_servers="kafka:9092",
    folders={"logs": "/secret"},
    kafka_problem="kafka:9092 is away",
    lag=3,
    limits={"max_bytes": 5},
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / STATUS_FILE).write_bytes(encode_status(STATUS))
    (tmp_path / "logs").mkdir()
    return tmp_path


@pytest.fixture
def looked(serve, folder):
    return serve(folder=folder)


def write_batches(folder, count, padding=""):
    lines = [json.dumps({"batch": number, "padding": padding}) for number in range(count)]
    (folder / "logs" / "batches.jsonl").write_text("\n".join([*lines, '{"batch": 9']))


def test_the_status_tells_how_the_engine_is_but_not_where_its_kafka_and_folders_are(looked):
    value = looked.http.get("/v1/status").json()["value"]
    assert (value["state"], value["site"], value["lag"]) == ("running", "athens", 3)
    assert value["limits"] == {"max_bytes": 5}
    assert "kafka" not in json.dumps(value).replace("kafka_away_since", "")
    assert "/secret" not in json.dumps(value)
    assert not {"pid", "host"} & value.keys()


def test_the_status_of_an_engine_that_is_elsewhere_or_gone_is_not_to_be_had(looked, folder, serve):
    (folder / STATUS_FILE).unlink()
    assert problem(looked.http.get("/v1/status"))["code"] == "not_found"
    for path in ("/v1/status", "/v1/batches", "/v1/dead-letters"):
        assert problem(serve().http.get(path))["status"] == 404


def test_the_status_of_another_engine_in_the_folder_is_not_told(folder):
    ours = Beside(EngineFolder(folder), list, "kafka:9092")
    assert ours.status() == STATUS
    assert Beside(EngineFolder(folder), list, "other:9092").status() is None


def test_a_status_of_an_older_engine_has_no_limits():
    older = json.loads(encode_status(STATUS))
    del older["limits"]
    assert decode_status(json.dumps(older).encode()).limits == {}


def test_the_last_batches_come_in_their_order(looked, folder):
    assert looked.http.get("/v1/batches").json() == {"value": []}
    write_batches(folder, 300)
    found = looked.http.get("/v1/batches?limit=3").json()["value"]
    assert [line["batch"] for line in found] == [297, 298, 299]
    assert len(looked.http.get("/v1/batches").json()["value"]) == 100


def test_of_a_large_log_only_the_end_is_read(looked, folder):
    write_batches(folder, 4000, padding="x" * 3000)
    found = looked.http.get("/v1/batches?limit=1000").json()["value"]
    assert len(found) == 1000
    assert found[-1]["batch"] == 3999


def test_a_limit_that_is_none_is_refused(looked):
    for path in ("/v1/batches", "/v1/dead-letters"):
        for limit in ("0", "1001", "-1", "x", "", "9" * 5000, "1.5", "²"):
            refused = problem(looked.http.get(path, params={"limit": limit}))
            assert (refused["status"], refused["field"]) == (422, "limit"), limit


def test_dead_letters_come_newest_first_with_their_bytes_and_the_count_of_each_code(looked):
    looked.engine.replies(data=[b"{not json", b"\xff\xfe<img src=x>", b"[1", b"{}"])
    reply = looked.http.get("/v1/dead-letters").json()
    assert reply["codes"] == {"bad_json": 2, "bad_encoding": 1, "bad_tuple": 1}
    assert [one["offset"] for one in reply["value"]] == [3, 2, 1, 0]
    encoding = reply["value"][2]
    assert base64.b64decode(encoding["excerpt"]) == b"\xff\xfe<img src=x>"
    assert encoding["text"] == "\ufffd\ufffd<img src=x>"


def test_dead_letters_of_one_code_are_counted_with_all(looked):
    looked.engine.replies(data=[b"{not json", b"\xff", b"[1"])
    reply = looked.http.get("/v1/dead-letters?code=bad_json&limit=1").json()
    assert [one["offset"] for one in reply["value"]] == [2]
    assert reply["codes"] == {"bad_json": 2, "bad_encoding": 1}


def test_whoever_may_see_some_data_sets_only_sees_none_of_it(serve, folder):
    digest = hashlib.sha256(b"t").hexdigest()
    served = serve(folder=folder, tokens={"t": HttpToken(digest, ("read",), ("Forex",))})
    for path in ("/v1/status", "/v1/batches", "/v1/dead-letters"):
        refused = served.http.get(path, headers={"Authorization": "Bearer t"})
        assert problem(refused)["status"] == 403
        assert served.http.get(path).status_code == 401
