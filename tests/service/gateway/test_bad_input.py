"""Whatever comes: a clear status, nothing that leaks, and the gateway goes on."""

import asyncio
import socket
import threading
import time
from contextlib import ExitStack, suppress
from urllib.parse import quote

import orjson
import pytest

from service.gateway import asking
from service.gateway.app import HANDLERS
from service.gateway.routes import ROUTES
from service.gateway.server import bind
from service.http_settings import HttpSettings
from tests.service.gateway.conftest import wait_until
from tests.service.gateway.test_asking import problem

CREATE = {"dataset": "Forex", "kind": "count_min", "key": "trader"}


def raw(served, request: bytes) -> bytes:
    with served.connect() as line:
        line.sendall(request)
        found = b""
        while part := line.recv(65536):
            found += part
        return found


@pytest.mark.parametrize(
    "uid",
    [
        "../../etc/passwd",
        "a/b",
        "%2e%2e",
        "a b",
        "ü€😀",
        "a?b#c",
        "a%b",
        '"',
        "'",
        "\\",
        "\x00",
        ".",
    ],
)
def test_a_uid_may_have_any_characters(served, uid):
    path = f"/v1/synopses/{quote(uid, safe='')}".encode()
    if uid == ".":  # clients take this for the folder itself
        path = b"/v1/synopses/%2E"
    body = orjson.dumps(CREATE)
    head = b"PUT %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" % path
    head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    made = raw(served, head + body)
    assert made.startswith(b"HTTP/1.1 201 "), made
    assert orjson.loads(made.partition(b"\r\n\r\n")[2])["uid"] == uid
    (listed,) = served.http.get("/v1/synopses").json()["value"]
    assert listed["uid"] == uid


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1", 404),
        ("/v1/", 404),
        ("/v2/synopses", 404),
        ("/v1/synopses/", 404),
        ("/v1/synopses/u/", 404),
        ("/v1/synopses//state", 404),
        ("//v1/synopses", 404),
        ("/v1/synopses/../../etc/passwd", 404),
        ("/v1/synopses/%ff", 400),
        ("/v1/synopses?dataset=%ff", 400),
        ("/v1/events?watch=%ff", 400),
        ("/v1/synopses/" + "x" * 513, 422),
    ],
)
def test_a_path_that_is_none_has_a_clear_status(served, path, status):
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    told = raw(served, request.encode())
    assert told.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"application/problem+json" in told
    assert b"nosniff" in told


def test_a_wrong_method_is_told_which_are_right(served):
    refused = served.http.patch("/v1/synopses/u")
    assert (refused.status_code, problem(refused)["code"]) == (405, "method_not_allowed")
    assert refused.headers["allow"] == "DELETE, GET, PUT"
    assert served.http.post("/livez").status_code == 405


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "bad_json"),
        (b"nonsense", 400, "bad_json"),
        (b'{"dataset": NaN}', 400, "bad_json"),
        (b"[" * 5000, 400, "bad_json"),
        (b'{"dataset": "\xff"}', 400, "bad_encoding"),
        (b"[]", 400, "bad_json"),
        (b"7", 400, "bad_json"),
        (b"null", 400, "bad_json"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(served, body, status, code):
    headers = {"Content-Type": "application/json"}
    refused = served.http.put("/v1/synopses/u", content=body, headers=headers)
    assert (refused.status_code, problem(refused)["code"]) == (status, code)


def test_a_body_of_another_type_is_refused(served):
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        refused = served.http.put(
            "/v1/synopses/u", content=orjson.dumps(CREATE), headers={"Content-Type": kind}
        )
        assert (refused.status_code, problem(refused)["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "request_text",
    [
        b"nonsense\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /livez HTTP/1.1\r\n\r\n",
        b"PUT /v1/synopses/u HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"PUT /v1/synopses/u HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
        b"Content-Length: 2\r\n\r\n",
        b"PUT /v1/synopses/u HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n",
    ],
)
def test_what_is_no_http_is_refused(served, request_text):
    told = raw(served, request_text)
    assert told.startswith(b"HTTP/1.1 400 ")
    assert b"Traceback" not in told
    assert served.http.get("/livez").status_code == 200


@pytest.mark.parametrize("place", [b"GET /", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_headers_that_do_not_end_are_refused(served, place):
    told = b""
    with served.connect() as line, suppress(OSError):
        line.sendall(place)
        for _ in range(1000):  # who is still sending may not get to read the reply
            line.sendall(b"x" * 10_000)
        told = line.recv(100)
    assert told[:13] in (b"", b"HTTP/1.1 400 ")
    assert served.http.get("/livez").status_code == 200


def test_headers_that_do_not_come_in_time_end_the_connection(serve):
    served = serve(header_seconds=0.3)
    began = time.monotonic()
    with served.connect() as line:
        line.sendall(b"GET /livez HTTP/1.1\r\n")
        assert line.recv(100) == b""
    with served.connect() as line, suppress(OSError):  # drop by drop is not in time, either
        for _ in range(200):
            line.sendall(b"X")
            time.sleep(0.05)
    assert time.monotonic() - began < 5


def test_a_reader_who_stops_reading_is_left(serve):
    served = serve(idle_seconds=0.3)
    served.create(scope="stream")
    rows = [(f"{number:0500}", {"trader": "ann"}) for number in range(5_000)]
    served.engine.send("Forex", rows)
    path = b"/v1/synopses/trades/streams?limit=5000"
    connections = served.server.server_state.connections
    others = set(connections)
    with served.connect() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path * 10)
        wait_until(lambda: connections - others)
        wait_until(lambda: not connections - others)


def test_a_connection_may_be_used_again(served):
    with served.connect() as line:
        for _ in range(3):
            line.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            told = b""
            while not told.endswith(b'{"status":"ok"}'):
                told += line.recv(65536)
            assert told.startswith(b"HTTP/1.1 200 ")


def test_a_reply_does_not_wait_for_the_network_to_say_that_its_headers_came():
    with bind(HttpSettings(listen="127.0.0.1:0")) as listener:
        address = listener.getsockname()
        with socket.create_connection(address), listener.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_connections_beyond_what_the_limits_need_are_closed(serve):
    served = serve(event_streams=1, requests_in_flight=1)
    with ExitStack() as stack:
        lines = [stack.enter_context(served.connect()) for _ in range(10)]
        lines[-1].settimeout(10)
        with suppress(ConnectionResetError):
            assert lines[-1].recv(1) == b""
    assert served.http.get("/livez").status_code == 200


def test_a_defect_shows_no_traces_and_the_gateway_goes_on(served, monkeypatch, caplog):
    async def fail(call):
        raise RuntimeError("the secret of the house")

    monkeypatch.setitem(HANDLERS, "live", fail)
    failed = served.http.get("/livez")
    assert (failed.status_code, problem(failed)["code"]) == (500, "internal")
    assert "secret" not in failed.text
    assert "the secret of the house" in caplog.text
    monkeypatch.undo()
    assert served.http.get("/livez").status_code == 200


def test_requests_in_flight_are_limited(serve, monkeypatch):
    served = serve(requests_in_flight=1)
    release, began = threading.Event(), threading.Event()

    async def slow(call):
        began.set()
        while not release.is_set():
            await asyncio.sleep(0.01)
        return await asking.ask(call)

    monkeypatch.setitem(HANDLERS, "ask", slow)
    first = threading.Thread(target=served.http.get, args=("/v1/synopses",))
    first.start()
    assert began.wait(10)
    busy = served.http.get("/livez")
    assert (busy.status_code, problem(busy)["code"]) == (503, "busy")
    assert busy.headers["retry-after"] == "1"
    release.set()
    first.join()
    assert served.http.get("/livez").status_code == 200


def test_whoever_is_ready_is_told_so(serve):
    served = serve(answer_seconds=0.2)
    assert served.http.get("/readyz").json() == {"status": "ok"}
    assert served.http.get("/livez").json() == {"status": "ok"}


def test_a_gateway_whose_engine_is_silent_lives_and_is_not_ready(served, monkeypatch):
    monkeypatch.setattr("service.gateway.engine._SECONDS_TO_ANSWER", 0.1)
    served.transport.silent = True
    refused = served.http.get("/readyz")
    assert (refused.status_code, problem(refused)["code"]) == (503, "not_ready")
    assert served.http.get("/livez").status_code == 200
    served.transport.silent = False
    wait_until(lambda: served.http.get("/readyz").status_code == 200)


def test_the_document_has_every_route_and_the_fields_of_the_wire(served):
    told = served.http.get("/openapi.json").json()
    assert told["openapi"] == "3.1.0"
    listed = {(method, path) for path, each in told["paths"].items() for method in each}
    assert listed == {(route.method.lower(), route.path) for route in ROUTES}
    body = told["paths"]["/v1/synopses/{uid}"]["put"]["requestBody"]["content"]
    schema = body["application/json"]["schema"]
    assert schema["required"] == ["dataset", "kind"]
    assert not {"op", "id", "uid"} & schema["properties"].keys()
    assert schema["properties"]["dataset"]["description"] == "the data set it summarises"
    ask = told["paths"]["/v1/synopses/{uid}/estimate"]["post"]["requestBody"]["content"]
    fields = ask["application/json"]["schema"]["properties"]
    assert {"fresh", "query", "from"} <= fields.keys()
    assert "uids" not in fields
    listing = told["paths"]["/v1/synopses"]["get"]["parameters"]
    assert {"dataset", "after", "limit"} <= {each["name"] for each in listing}


def references(part):
    if isinstance(part, dict):
        yield from ([part["$ref"]] if "$ref" in part else [])
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from references(each)


def test_the_document_refers_to_nothing_that_is_not_in_it(served):
    told = served.http.get("/openapi.json").json()
    schemas = {f"#/components/schemas/{name}" for name in told["components"]["schemas"]}
    assert set(references(told)) <= schemas
