"""Tuples over HTTP: every form, the first wrong row, bodies that are too large or never end."""

import asyncio
import io
import json
import threading
import time

import httpx
import pyarrow as pa
import pytest
from pyarrow import ipc

from clients.errors import DeliveryFailed
from clients.tuples import decode
from tests.service.gateway.conftest import wait_until
from tests.service.gateway.test_asking import problem

ROWS = [{"stream": "EURUSD", "trader": "ann"}, {"stream": "GBPUSD", "trader": "bob"}]
NDJSON, CSV = "application/x-ndjson", "text/csv"
ARROW = "application/vnd.apache.arrow.stream"
PATH = "/v1/datasets/Forex/tuples"


def lines(rows) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def arrow(rows, **options) -> bytes:
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
    sink = io.BytesIO()
    with ipc.new_stream(sink, table.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=1 if table.num_rows < 10 else None)
    return sink.getvalue()


def names(*texts) -> pa.Array:
    return pa.array(texts).dictionary_encode()


LONG = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int8()), ["x" * 100_000])
EMPTY = pa.nulls(1_000_000)


def count(served, trader="ann"):
    told = served.http.post("/v1/synopses/trades/estimate", json={"query": {"key": trader}})
    return told.json()["value"]


BODIES = {
    NDJSON: lines(ROWS),
    "application/json": json.dumps(ROWS).encode(),
    CSV: b"stream,trader\nEURUSD,ann\nGBPUSD,bob\n",
    ARROW: arrow(ROWS),
}


@pytest.mark.parametrize("form", BODIES)
def test_tuples_count_whatever_their_form(served, form):
    served.create()
    headers = {"Content-Type": f"{form}; charset=utf-8"}
    taken = served.http.post(PATH, content=BODIES[form], headers=headers)
    assert (taken.status_code, taken.json()) == (200, {"tuples": 2})
    assert count(served, "ann") == count(served, "bob") == 1.0


def test_an_arrow_stream_may_have_dictionaries(served):
    served.create()
    table = pa.table({"stream": names("EURUSD", "GBPUSD"), "trader": names("ann", "ann")})
    headers = {"Content-Type": ARROW}
    assert served.http.post(PATH, content=arrow(table), headers=headers).json() == {"tuples": 2}
    assert count(served) == 2.0


def test_a_compressed_body_is_refused(served):
    headers = {"Content-Type": NDJSON, "Content-Encoding": "gzip"}
    assert served.http.post(PATH, content=lines(ROWS), headers=headers).status_code == 415


def test_a_body_that_comes_too_slowly_as_a_whole_is_given_up(serve):
    served = serve(body_seconds=0.3)

    def drops():
        for row in ROWS * 20:
            yield lines([row])
            time.sleep(0.05)

    slow = served.http.post(PATH, content=drops(), headers={"Content-Type": NDJSON})
    assert (slow.status_code, problem(slow)["code"]) == (408, "too_slow")
    assert 0 < problem(slow)["sent"] < 20


def test_bodies_with_tuples_are_taken_a_few_at_a_time(serve):
    served = serve(answer_seconds=0.2)
    served.door._uploads = asyncio.Semaphore(0)
    busy = served.http.post(PATH, content=lines(ROWS), headers={"Content-Type": NDJSON})
    assert (busy.status_code, problem(busy)["code"]) == (503, "busy")


def test_fields_of_other_names_tell_stream_and_time(served):
    served.create(scope="stream")
    body = lines([{"symbol": "EURUSD", "at": "2024-01-01T12:00:00Z", "trader": "ann"}])
    query = {"stream": "symbol", "time": "at"}
    headers = {"Content-Type": NDJSON}
    assert served.http.post(PATH, content=body, headers=headers, params=query).status_code == 200
    listed = served.http.get("/v1/synopses/trades/streams").json()["value"]
    assert [each["stream"] for each in listed] == ["EURUSD"]
    wrong = served.http.post(PATH, content=body, headers=headers, params={"column": "x"})
    assert (wrong.status_code, problem(wrong)["field"]) == (422, "column")


@pytest.mark.parametrize(
    ("form", "body", "says", "sent"),
    [
        (NDJSON, lines(ROWS) + b"\n[1]\n" + lines(ROWS), "the body, line 4: ", 2),
        (NDJSON, lines(ROWS) + b"{nonsense\n", "the body, line 3: ", 2),
        (NDJSON, lines(ROWS) + b'{"stream": null}', "the body, line 3: stream=None", 2),
        (NDJSON, b"\xff\xfe\n", "the body, line 1: ", 0),
        (NDJSON, b"stream,trader\nEURUSD,ann\n", "the body, line 1: ", 0),
        ("application/json", b'[{"stream": "s", "trader": 1}, 7]', "the body, row 2: ", 1),
        ("application/json", b'[{"stream": "s", "trader": 1}, {"x": 1}]', "the body, row 2: ", 1),
        (CSV, b"stream,trader\nEURUSD,ann\n,bob\n", "the body, line 3: ", 0),
        (CSV, b"", "the body: empty", 0),
        (CSV, b"\xff,b\n1,2\n", "the body, line 1: expected text in UTF-8", 0),
        (ARROW, b"nonsense", "the body: ", 0),
        (ARROW, arrow([*ROWS, {"stream": None, "trader": "eve"}]), "the body, row 3: ", 2),
        (ARROW, arrow(ROWS)[:-300], "the body: ", None),
        (ARROW, arrow(ROWS).replace(b"trader", b"\xaerader", 1), "the body: not an Arrow IPC", 0),
        (ARROW, arrow(ROWS, compression="zstd"), "the body: a compressed Arrow stream", 0),
        (ARROW, arrow(pa.table({"stream": LONG})), "the body: a batch of 1,000,0", 0),
        (ARROW, arrow(pa.table({"stream": EMPTY})), "the body: a batch of 8,000,0", 0),
        (ARROW, b"\xff\xff\xff\xff\xff\xff\xff\x7f", "the body: not an Arrow IPC stream", 0),
        (ARROW, b"\xff\xff\xff\xff\x08\x00\x00\x00" + b"\xff" * 8, "the body: not an Arrow", 0),
    ],
)
def test_the_first_wrong_row_is_named_and_only_those_before_it_are_sent(
    served, form, body, says, sent
):
    served.create()
    refused = served.http.post(PATH, content=body, headers={"Content-Type": form})
    assert (refused.status_code, problem(refused)["code"]) == (422, "bad_tuple")
    assert problem(refused)["detail"].startswith(says)
    told = problem(refused)["sent"]
    assert sent is None or told == sent
    assert served.http.get("/v1/synopses/trades").json()["value"]["tuples"] == told


def test_a_body_is_sent_while_it_still_comes(served):
    served.create()
    has_arrived = threading.Event()

    def parts():
        yield lines(ROWS)
        wait_until(lambda: served.transport._data)
        has_arrived.set()
        yield lines(ROWS)

    taken = served.http.post(PATH, content=parts(), headers={"Content-Type": NDJSON})
    assert (has_arrived.is_set(), taken.json()) == (True, {"tuples": 4})


def test_a_body_beyond_the_limit_is_refused(serve):
    served = serve(tuples_bytes=1000, body_bytes=500)
    served.create()
    large = served.http.post(PATH, content=b"x" * 1001, headers={"Content-Type": NDJSON})
    assert (large.status_code, problem(large)["code"]) == (413, "too_large")
    listed = json.dumps(ROWS * 20).encode()
    as_list = served.http.post(PATH, content=listed, headers={"Content-Type": "application/json"})
    assert as_list.status_code == 413
    state = served.http.post("/v1/synopses/trades/state", json={"state": "A" * 1000})
    assert state.status_code == 422  # a state may be larger than other bodies
    body = {"dataset": "d", "kind": "count_min", "key": "k" * 600}
    assert served.http.put("/v1/synopses/u", json=body).status_code == 413
    assert served.http.get("/livez").status_code == 200


def test_a_body_that_never_ends_is_refused_at_the_limit(serve):
    served = serve(tuples_bytes=10_000)

    def endless():
        while True:
            yield lines(ROWS)

    try:
        refused = served.http.post(PATH, content=endless(), headers={"Content-Type": NDJSON})
    except (httpx.WriteError, httpx.ReadError):  # it was still being sent
        pass
    else:
        assert refused.status_code == 413
        assert refused.headers["connection"] == "close"
    assert served.http.get("/livez").status_code == 200


def test_a_body_that_stops_coming_is_given_up(serve):
    served = serve(idle_seconds=0.2)
    with served.connect() as line:
        head = f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {NDJSON}\r\n"
        line.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        assert line.recv(100).startswith(b"HTTP/1.1 408 ")


def test_a_sender_that_goes_away_leaves_the_gateway_as_it_was(served):
    served.create()
    with served.connect() as line:
        head = f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {NDJSON}\r\n"
        line.sendall(f"{head}Content-Length: 1000000\r\n\r\n".encode() + lines(ROWS))
        wait_until(lambda: served.transport._data)
    wait_until(lambda: count(served) == 1.0)
    taken = served.http.post(PATH, content=lines(ROWS), headers={"Content-Type": NDJSON})
    assert taken.status_code == 200


def test_an_unknown_form_is_refused(served):
    for headers in ({"Content-Type": "text/plain"}, {}):
        refused = served.http.post(PATH, content=b"x", headers=headers)
        assert (refused.status_code, problem(refused)["code"]) == (415, "unsupported_media_type")
        assert NDJSON in problem(refused)["detail"]


def test_what_the_broker_did_not_take_is_told(served, monkeypatch, caplog):
    def flush():
        raise DeliveryFailed("2 messages were not delivered")

    monkeypatch.setattr(served.transport, "flush", flush)
    failed = served.http.post(PATH, content=lines(ROWS), headers={"Content-Type": NDJSON})
    assert failed.status_code == 503
    assert problem(failed)["detail"] == "Kafka did not take all that was sent"
    assert "not delivered" in caplog.text
    monkeypatch.undo()


def test_a_line_of_many_parts_is_one_line(served):
    served.create()
    wide = {f"field{n}": n for n in range(50_000)}

    def parts():
        whole = lines([{"stream": "s", "trader": "ann", **wide}, *ROWS])
        yield from (whole[at : at + 10_000] for at in range(0, len(whole), 10_000))

    taken = served.http.post(PATH, content=parts(), headers={"Content-Type": NDJSON})
    assert taken.json() == {"tuples": 3}
    assert sum(len(decode(payload)) for payload in served.transport._data) in (0, 3)
