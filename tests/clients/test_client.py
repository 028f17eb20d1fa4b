"""The client over the in-memory transport."""

from datetime import timedelta

import pytest

import clients
from clients import (
    Answer,
    AnswerTimeout,
    BadInput,
    BadParameter,
    Client,
    ClosedClient,
    InMemoryTransport,
    Refused,
    SynopsisExists,
    TransportError,
    UnknownSynopsis,
    Unreachable,
)
from clients.errors import _BY_CODE
from sde.wire import Code, Create, Definition, Window, decode_request


def test_create_sends_a_request_the_engine_can_read() -> None:
    transport = InMemoryTransport()
    with Client(transport) as sde:
        trades = sde.create(
            "count_min",
            dataset="Forex",
            uid="trades",
            key="StockID",
            value="volume",
            scope={"stream": "EURUSD"},
            reuse=True,
            epsilon=0.01,
        )
    assert trades.uid == "trades"
    request = decode_request(transport.requests[0], "requests-0-0")
    assert isinstance(request, Create)
    assert request.definition == Definition(
        dataset="Forex",
        kind="count_min",
        params={"epsilon": 0.01},
        key="StockID",
        values=("volume",),
        scope="stream",
        stream="EURUSD",
    )
    assert request.reuse


def test_every_request_of_the_client_can_be_read_by_the_engine() -> None:
    def handler(request):
        return {"value": {"list": [], "snapshots": [], "export": ""}.get(request["op"], {})}

    transport = InMemoryTransport(handler)
    with Client(transport) as sde:
        a = sde.create("ams", dataset="d")
        sde.create("ams", dataset="d", uid=7, value=["x", "y"])
        sde.create("ams", dataset="d", key=("x", "y"), where="x > 1")
        a.estimate("frequency", key=["k", 1])
        a.estimate()
        a.estimate("frequency", key="k", stream="s")
        a.estimate("join_size", "b", sde.synopsis("c"))
        a.describe()
        a.export()
        a.export(stream="s", format="datasketches")
        a.estimate(end=5)
        a.export(span=(5, "2024-01-01T00:00:00Z"))
        a.import_state(b"state", stream="s", replace=True, tuples=5)
        a.import_state(b"state")
        a.snapshot()
        a.snapshot("v1")
        a.restore()
        a.restore("v1", as_uid="b")
        a.snapshots()
        sde.snapshots()
        a.watch(every="1s")
        sde.watch(["a", "b"], "join_size", on="change", threshold=5, when="< 5")
        sde.unwatch("w")
        a.delete()
        sde.list()
        sde.list("d")
        sde.submit("delete", uid="u").result()
    for request in transport.requests:
        decode_request(request, "requests-0-0")
    assert transport.closed


def test_a_synopsis_without_uid_gets_a_new_one_each_time() -> None:
    sde = Client(InMemoryTransport())
    first, second = sde.create("fm", dataset="d"), sde.create("fm", dataset="d")
    assert first.uid != second.uid
    assert first.uid.startswith("fm-")


def test_a_reused_synopsis_has_the_uid_the_engine_tells() -> None:
    sde = Client(InMemoryTransport(lambda request: {"uid": "older"}))
    assert sde.create("fm", dataset="d", reuse=True).uid == "older"


def test_an_answer_is_typed_and_keeps_the_whole_reply() -> None:
    reply = {"value": 2.0, "lower": 1.0, "upper": 3.0, "confidence": 0.99, "tuples": 5, "batch": 7}
    sde = Client(InMemoryTransport(lambda request: {**reply, "site": "a"}))
    answer = sde.synopsis("u").estimate(key="k")
    assert isinstance(answer, Answer)
    assert {name: getattr(answer, name) for name in reply} == reply
    assert answer.raw["site"] == "a"


def test_list_and_describe_are_typed() -> None:
    known = {"uid": "u", "dataset": "d", "kind": "fm", "params": {"bitmaps": 64}, "scope": "stream"}
    told = {**known, "tuples": 3, "bytes": 512, "streams": 2}
    sde = Client(InMemoryTransport(lambda r: {"value": [told] if r["op"] == "list" else told}))
    (listed,) = sde.list()
    described = sde.describe("u")
    assert listed == described
    assert (described.uid, described.scope, described.bytes) == ("u", "stream", 512)


@pytest.mark.parametrize("code", [*Code, "of_a_newer_engine"])
def test_a_fault_raises_the_error_of_its_code(code) -> None:
    fault = {"status": "error", "code": str(code), "message": "uid='u': no", "field": "uid"}
    with pytest.raises(Refused) as caught:
        Client(InMemoryTransport(lambda request: fault)).delete("u")
    assert (caught.value.code, caught.value.field) == (str(code), "uid")
    assert str(caught.value) == f"{code}: uid='u': no"
    assert type(caught.value) is _BY_CODE.get(code, Refused)


def test_every_code_a_request_can_meet_has_an_error_of_its_own() -> None:
    of_records = {Code.BAD_RECORD, Code.BAD_SCHEMA, Code.UNKNOWN_SCHEMA}
    of_data = {Code.BAD_FRAME, *of_records, Code.BAD_TUPLE, Code.OFFSETS_LOST}
    assert set(_BY_CODE) == set(Code) - of_data
    assert _BY_CODE[Code.SYNOPSIS_EXISTS] is SynopsisExists
    assert _BY_CODE[Code.BAD_PARAMETER] is BadParameter
    assert _BY_CODE[Code.UNKNOWN_SYNOPSIS] is UnknownSynopsis


def test_silence_is_a_timeout_that_names_the_request() -> None:
    transport = InMemoryTransport(lambda request: None)
    with pytest.raises(AnswerTimeout, match=r"no answer to delete .* within 0\.01 s") as caught:
        Client(transport, timeout=0.01).delete("u")
    assert caught.value.request_id == transport.requests[0]["id"]
    assert isinstance(caught.value, TimeoutError)


def test_an_answer_after_the_timeout_is_dropped() -> None:
    late = []

    def handler(request):
        late.append(request)
        return None if len(late) == 1 else [{"request": late[0]["id"], "value": 1}, {"value": 2}]

    sde = Client(InMemoryTransport(handler), timeout=0.01)
    pending = sde.submit_estimate("u")
    with pytest.raises(AnswerTimeout):
        pending.result()
    assert sde.estimate("u").value == 2
    with pytest.raises(AnswerTimeout):
        pending.result()
    assert pending.done()


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [({"status": "ok"}, "was done"), ({"status": "error", "message": "no"}, "was refused: no")],
)
def test_a_change_that_is_made_after_its_timeout_is_told_when_it_happens(
    reply, outcome, caplog
) -> None:
    late: list[dict[str, object]] = []

    def handler(request):
        late.append(request)
        first = {"request": late[0]["id"], **reply}
        return None if len(late) == 1 else [first, first, {"value": 2}]

    sde = Client(InMemoryTransport(handler), timeout=0.01)
    with pytest.raises(AnswerTimeout, match="it may still be done later"):
        sde.create("fm", dataset="d", uid="u", key="k")
    assert not caplog.messages
    sde.estimate("another")
    (told,) = caplog.messages
    assert told == f"create u ({late[0]['id']}), which was not answered in time, {outcome}"


def test_duplicate_answers_are_dropped() -> None:
    sde = Client(InMemoryTransport(lambda request: [{"value": 1}, {"value": 1}, {"value": 2}]))
    assert [sde.estimate("u").value for _ in range(3)] == [1, 1, 1]


def test_answers_to_others_are_ignored() -> None:
    foreign = [{"request": "of another client"}, {"request": None}, {"request": [1]}]
    sde = Client(InMemoryTransport(lambda request: [*foreign, {"value": 3}]))
    assert sde.estimate("u").value == 3


def test_thousands_of_requests_are_in_flight_and_answered_in_any_order() -> None:
    waiting = []
    transport = InMemoryTransport(lambda request: waiting.append(request))
    sde = Client(transport, timeout=120)
    pending = [sde.submit_estimate(f"u{n}") for n in range(5000)]
    assert not any(each.done() for each in pending)
    for request in reversed(waiting):
        transport.publish({"request": request["id"], "value": request["uid"]})
    assert [each.result().value for each in pending] == [f"u{n}" for n in range(5000)]


def test_a_request_id_of_ones_own_makes_a_repeat_recognisable() -> None:
    transport = InMemoryTransport()
    sde = Client(transport)
    sde.submit("delete", id="mine", uid="u").result()
    sde.submit("delete", id="mine", uid="u").result()
    assert [request["id"] for request in transport.requests] == ["mine", "mine"]


def test_one_id_cannot_be_in_flight_twice() -> None:
    sde = Client(InMemoryTransport(lambda request: None))
    sde.submit("delete", id="mine", uid="u")
    with pytest.raises(BadInput, match="mine"):
        sde.submit("delete", id="mine", uid="u")


def test_closing_fails_what_is_in_flight() -> None:
    with Client(InMemoryTransport(lambda request: None)) as sde:
        pending = sde.submit_estimate("u")
    with pytest.raises(TransportError, match="closed"):
        pending.result()


def test_an_undelivered_request_fails_at_once() -> None:
    class Broken(InMemoryTransport):
        def send_request(self, request, on_failure):
            on_failure(clients.DeliveryFailed("no broker"))

    with pytest.raises(clients.DeliveryFailed, match="no broker"):
        Client(Broken()).delete("u")


def test_the_names_exported_are_the_public_ones() -> None:
    assert all(hasattr(clients, name) for name in clients.__all__)
    tree = {
        name
        for name, value in vars(clients.errors).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    assert tree <= set(clients.__all__)
    assert all(name in clients.errors.__doc__ for name in tree)


def test_a_page_that_is_too_large_is_asked_for_in_smaller_ones():
    def engine(request):
        limit = request.get("limit", 5000)
        if limit > 100:
            return {"status": "error", "code": "too_large", "message": "a smaller limit"}
        after = int(request.get("after", 0))
        page = range(after + 1, min(after + limit, 200) + 1)
        more = {"next": str(page[-1])} if page[-1] < 200 else {}
        return {"value": [{"uid": str(uid)} for uid in page], **more}

    found = Client(InMemoryTransport(engine)).list()
    assert [each.uid for each in found] == [str(uid) for uid in range(1, 201)]


# -- on a par with the wire -----------------------------------------------------------------------


@pytest.mark.parametrize("window", ["5m", timedelta(minutes=5), {"size": timedelta(minutes=5)}])
def test_a_length_is_a_window_that_tumbles(window) -> None:
    transport = InMemoryTransport()
    Client(transport).create("fm", dataset="d", key="k", window=window)
    request = decode_request(transport.requests[0], "requests-0-0")
    assert request.definition.window == Window("tumbling", 300_000, 300_000, keep=300_000)


def test_settings_go_to_kafka() -> None:
    with pytest.raises(Unreachable, match=r"no\.such\.setting"):
        Client("localhost:1", settings={"no.such.setting": 1}).list()
    with pytest.raises(BadInput, match="settings: expected with an address"):
        Client(InMemoryTransport(), settings={"security.protocol": "SSL"})


@pytest.mark.parametrize(
    "use",
    [
        lambda sde: sde.list(),
        lambda sde: sde.submit("list"),
        lambda sde: sde.watching("w"),
        lambda sde: sde.send("d", "s", {}),
        lambda sde: sde.send_many("d", [("s", {})]),
        lambda sde: sde.flush(),
    ],
)
def test_a_closed_client_says_so_at_once(use) -> None:
    transport = InMemoryTransport(lambda request: {"value": []})
    sde = Client(transport)
    sde.list()
    sde.close()
    with pytest.raises(ClosedClient, match="the client is closed"):
        use(sde)
    sde.close()  # a second time does nothing
    assert len(transport.requests) == 1


@pytest.mark.parametrize("span", [1_700_000_000_000, "5m", (1,), (1, 2, 3)])
def test_a_span_is_two_times(span):
    with pytest.raises(BadInput, match=r"span=.*: expected a pair of times, \(from, to\)"):
        Client(InMemoryTransport()).estimate("u", span=span)


@pytest.mark.parametrize("timeout", ["soon", "5", -1, float("nan"), float("inf"), True, [5]])
def test_a_timeout_that_is_none_is_refused_at_once(timeout) -> None:
    with pytest.raises(BadInput, match=r"timeout=.*expected a number of seconds or a duration"):
        Client(InMemoryTransport(), timeout=timeout)


def test_a_timeout_in_the_environment_that_is_none_is_refused_by_its_name(monkeypatch) -> None:
    monkeypatch.setenv("SDE_TIMEOUT", "soon")
    with pytest.raises(BadInput, match="SDE_TIMEOUT='soon': expected a number of seconds"):
        Client(InMemoryTransport())


@pytest.mark.parametrize("timeout", ["10ms", timedelta(milliseconds=10), 0.01])
def test_a_timeout_may_be_a_duration(timeout) -> None:
    silent = Client(InMemoryTransport(lambda request: None), timeout=timeout)
    with pytest.raises(AnswerTimeout, match=r"within 0\.01 s"):
        silent.list()
    with pytest.raises(AnswerTimeout, match=r"within 0\.01 s"):
        next(silent.watching("w", timeout=timeout))


def test_a_whole_number_as_a_stream_is_its_digits_in_every_request() -> None:
    transport = InMemoryTransport(lambda request: {"value": ""})
    sde = Client(transport)
    sde.create("moments", dataset="d", value="v", scope={"stream": 7})
    sde.estimate("u", stream=7)
    sde.submit_watch("u", stream=7, every="1s")
    sde.export("u", stream=7)
    sde.import_state("u", b"state", stream=7)
    scope, *streams = [each.get("scope", each.get("stream")) for each in transport.requests]
    assert scope == {"stream": "7"}
    assert streams == ["7"] * 4
    with pytest.raises(BadInput, match=r"stream=7\.5: expected the name of a stream"):
        sde.estimate("u", stream=7.5)


def test_a_state_that_is_no_bytes_is_refused_with_its_field() -> None:
    with pytest.raises(BadInput, match=r"state='abc': expected bytes.* not str"):
        Client(InMemoryTransport()).import_state("copy", "abc")


def test_a_client_and_a_request_in_flight_can_be_read() -> None:
    replies = iter([None, {}])
    sde = Client(InMemoryTransport(lambda request: next(replies)))
    assert repr(sde) == "<Client: InMemoryTransport()>"
    waiting = sde.submit("list", id="r1")
    assert repr(waiting) == "<Pending list (r1): waiting>"
    assert repr(sde.submit("list", id="r2")) == "<Pending list (r2): done>"
    sde.close()
    assert repr(sde) == "<Client: closed>"
    assert repr(Client("kafka:9092")) == "<Client: KafkaTransport('kafka:9092')>"
