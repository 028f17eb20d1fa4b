"""The client over HTTP: with a real gateway, and with one that a test makes trouble with."""

import gc
import logging
import socket
import threading
from contextlib import ExitStack

import pyarrow as pa
import pytest

from bench.certificates import Authority
from clients import (
    AccessDenied,
    AnswerTimeout,
    BadInput,
    BadParameter,
    Client,
    ClosedClient,
    DeliveryFailed,
    HttpTransport,
    LimitExceeded,
    Quarantined,
    Refused,
    Unreachable,
)
from clients.http.calling import interrupt
from clients.http.paths import PATHS, call_of
from clients.http.positions import AT_LEAST, POSITION
from sde.testing import LocalTransport
from service.gateway.routes import ROUTES, find_route
from service.http_settings import HttpSettings
from tests.clients.scripted_gateway import Says, problem, scripted
from tests.service.gateway.conftest import Served, wait_until
from tests.service.gateway.test_guard import READ, TOKENS

ROWS = [("EURUSD", {"trader": "ann"}), ("GBPUSD", {"trader": "bob"}), ("EURUSD", {"trader": "ann"})]


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def serve(stack):
    return lambda **settings: Served(HttpSettings(listen="127.0.0.1:0", **settings), stack)


@pytest.fixture
def served(serve):
    return serve()


@pytest.fixture
def sde(served, stack):
    return stack.enter_context(Client(served.url, timeout=30))


@pytest.fixture
def trades(sde):
    made = sde.create("count_min", dataset="Forex", uid="trades", key="trader")
    sde.send_many("Forex", ROWS)
    return made


# -- with a real gateway --------------------------------------------------------------------------


def test_every_message_of_the_wire_has_the_path_that_the_gateway_gives_it():
    carried = {route.asks.__struct_config__.tag for route in ROUTES if route.asks is not None}
    assert PATHS.keys() == carried
    for op, (method, path) in PATHS.items():
        route, _ = find_route(method, path.encode())
        assert (route.asks is None and op == "estimate") or route.asks.__struct_config__.tag == op


def test_uids_may_have_any_character(sde):
    for uid in ("a/b", "ü ?&#%2F", "..", "\n"):
        made = sde.create("count_min", dataset="Forex", uid=uid, key="trader")
        assert made.describe().uid == uid
        made.delete()
    assert sde.list() == ()


def test_tuples_go_singly_in_lists_and_as_arrow(sde, trades):
    sde.send("Forex", "EURUSD", {"trader": "eve"})
    sde.flush()
    table = pa.table({"stream": ["EURUSD"] * 100, "trader": ["eve"] * 100})
    assert sde.send_table("Forex", table) == 100
    assert trades.estimate(key="eve").value == 101
    assert trades.estimate(key="ann").value == 2


def test_tuples_of_several_data_sets_reach_their_own(sde, trades):
    others = sde.create("count_min", dataset="a/b", key="trader")
    for number in range(200):
        sde.send("a/b" if number % 3 else "Forex", "s", {"trader": "zoe"})
    sde.flush()
    assert (trades.estimate(key="zoe").value, others.estimate(key="zoe").value) == (67, 133)


def test_questions_that_wait_go_in_a_few_calls(served, sde, trades, monkeypatch):
    calls = []
    call = sde._transport._caller.call
    monkeypatch.setattr(
        sde._transport._caller, "call", lambda *told: calls.append(told) or call(*told)
    )
    before = len(served.transport.requests)
    pending = [sde.submit_estimate("trades", key="ann") for _ in range(300)]
    assert {each.result().value for each in pending} == {2}
    assert len(served.transport.requests) - before == 300
    assert len(calls) < 100


def test_one_wrong_question_among_many_fails_alone(sde, trades):
    wrong = [sde.submit_estimate("trades", "mean", key="ann") for _ in range(20)]
    right = [sde.submit_estimate("trades", key="ann") for _ in range(20)]
    assert {each.result().value for each in right} == {2}
    for each in wrong:
        with pytest.raises(Refused, match="mean"):
            each.result()


def test_a_watch_goes_on_where_it_was_when_its_connection_ends(served, sde, trades):
    now = served.engine.now
    with trades.watch(key="ann", every="1s", timeout=30) as answers:
        served.transport.tick(now + 1000)
        first = next(answers)
        stream = sde._transport._events[answers.id]
        for second in (2, 3, 4):
            interrupt(stream._connection)
            served.transport.tick(now + 1000 * second)
            assert next(answers).number == first.number + second - 1
    assert "unwatch" in answers.ended
    assert sde.watches() == ()


def test_a_watch_of_somebody_else_is_followed_from_now_on(served, sde, trades):
    served.watch("theirs")
    answers = sde.watching("theirs", timeout=30)
    served.tick(1000)
    assert next(answers).value == 2
    unknown = sde.watching("nobody's")
    assert unknown.poll(30) is None
    assert "nobody's" in unknown.ended


def test_a_watch_that_nobody_holds_is_no_longer_followed(served, sde, trades):
    answers = trades.watch(key="ann", every="1s")
    wait_until(lambda: served.door.hub.followers == 1)
    del answers
    gc.collect()
    wait_until(lambda: not served.door.hub.followers)
    assert sde._transport._events == {}


def test_a_fault_is_the_same_exception_as_over_kafka(served, sde):
    with pytest.raises(BadParameter) as over_http:
        sde.create("count_min", dataset="Forex", key="trader", epsilon=7)
    with Client(LocalTransport(served.engine)) as beside, pytest.raises(BadParameter) as directly:
        beside.create("count_min", dataset="Forex", key="trader", epsilon=7)
    assert str(over_http.value) == str(directly.value)
    assert over_http.value.field == directly.value.field


def test_a_token_lets_in_and_is_nowhere_to_be_read(serve, caplog):
    served = serve(tokens=TOKENS)
    caplog.set_level(logging.DEBUG)
    with Client(served.url, token=READ, timeout=30) as sde:
        assert sde.list("Forex") == ()
        with pytest.raises(AccessDenied, match="forbidden") as denied:
            sde.create("count_min", dataset="Forex", key="trader")
        texts = [repr(sde), repr(sde._transport), repr(denied.value), caplog.text]
    with Client(served.url, token="secret", timeout=30) as stranger:
        with pytest.raises(AccessDenied, match="unauthorized") as denied:
            stranger.list()
        with pytest.raises(DeliveryFailed, match="token") as failed:
            stranger.send_many("Forex", ROWS)
        texts += [repr(stranger), str(denied.value), str(failed.value)]
    assert not any(word in text for text in texts for word in (READ, "secret"))


def test_certificates_are_checked_by_the_authority_that_is_named(serve, tmp_path):
    authority = Authority(tmp_path, "authority")
    signed = authority.sign("gateway", ["127.0.0.1"])
    served = serve(certificate=signed.certificate, private_key=signed.key)
    with Client(served.url, ca_file=authority.file, timeout=30) as sde:
        assert sde.list() == ()
    with (
        Client(served.url, timeout=30) as sde,
        pytest.raises(Unreachable, match=r"certificate that is not trusted.*ca_file="),
    ):
        sde.list()
    elsewhere = served.url.replace("127.0.0.1", "localhost")
    with (
        Client(elsewhere, ca_file=authority.file, timeout=30) as sde,
        pytest.raises(Unreachable, match="not valid for 'localhost'"),
    ):
        sde.list()
    with (
        Client(served.url.replace("https", "http"), timeout=0.5) as sde,
        pytest.raises(AnswerTimeout, match="https://"),
    ):
        sde.list()


def test_an_engine_that_is_silent_is_a_timeout(serve):
    served = serve(answer_seconds=0.1)
    served.transport.silent = True
    with (
        Client(served.url, timeout=0.3) as sde,
        pytest.raises(AnswerTimeout, match="the engine did not answer in time"),
    ):
        sde.list()
    served.transport.silent = False


# -- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "options", "words"),
    [
        ("http://", {}, "expected a URL such as"),
        ("http://h:99999", {}, "expected a URL such as"),
        ("http://ann:secret@h", {}, "expected none with a user"),
        ("http://h/?token=secret", {}, "without query"),
        ("http://h", {"ca_file": "ca.pem"}, "https:// only"),
        ("https://h", {"ca_file": "/nowhere/ca.pem"}, "/nowhere/ca.pem"),
        ("http://h", {"token": "sec\nret"}, "token: expected"),
        ("http://h", {"settings": {"a": 1}}, "settings: expected with the address of a Kafka"),
        ("http://h", {"topics": {"data": "d"}}, "topics: expected with the address of a Kafka"),
        ("h:9092", {"token": "secret"}, "token: expected with the URL of a gateway"),
    ],
)
def test_a_wrong_address_is_refused_at_once_without_its_secrets(url, options, words):
    with pytest.raises(BadInput, match=words) as refused:
        Client(url, **options)
    assert "sec" not in str(refused.value)


def test_where_nobody_listens_the_client_says_what_to_do():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        for use in (lambda sde: sde.list(), lambda sde: sde.send("d", "s", {})):
            with Client(url) as sde, pytest.raises(Unreachable, match="sde serve --http"):
                use(sde)


def test_a_request_that_http_has_not_is_refused():
    with pytest.raises(BadInput, match="op='nonsense': expected one that goes over HTTP"):
        call_of({"op": "nonsense", "id": "q"})
    with pytest.raises(BadInput, match="uid='': describe over HTTP"):
        call_of({"op": "describe", "id": "q", "uid": ""})
    with pytest.raises(BadInput, match="expected printable characters"):
        call_of({"op": "list", "id": "q\r\nX: y"})


# -- with a gateway in trouble --------------------------------------------------------------------

TUPLES = "/v1/datasets/d/tuples"


def once_each(*says):
    """One response after the other; the last one for ever."""
    left = list(says)
    return lambda asked: left.pop(0) if len(left) > 1 else left[0]


@pytest.mark.parametrize(
    "trouble",
    [
        problem(429, "too_many_requests", Retry_After="0"),
        problem(503, "not_ready", Retry_After="0"),
        problem(504, "no_answer"),
        Says(502, b"<html>", {"Retry-After": "0"}),
        Says(0),
    ],
    ids=lambda says: str(says.status),
)
def test_a_request_is_sent_again_under_its_id_until_it_is_answered(trouble):
    script = once_each(trouble, trouble, Says(200, {"status": "ok", "value": []}))
    with scripted(script) as gateway, Client(gateway.url, timeout=30) as sde:
        assert sde.list() == ()
    assert len(gateway.asked) == 3
    assert len({each.headers["Idempotency-Key"] for each in gateway.asked}) == 1


def test_what_a_gateway_asks_to_wait_for_longer_than_the_timeout_is_told():
    script = once_each(problem(503, "busy", "too much goes on", Retry_After="1000"))
    with (
        scripted(script) as gateway,
        Client(gateway.url, timeout=0.2) as sde,
        pytest.raises((AnswerTimeout, Unreachable), match="too much goes on"),
    ):
        sde.list()
    assert len(gateway.asked) == 1


@pytest.mark.parametrize(
    ("says", "error"),
    [
        (problem(503, "quarantined"), Quarantined),
        (problem(507, "limit_exceeded"), LimitExceeded),
        (problem(404, "not_found"), Refused),
        (Says(404, b"<html>no such page"), Unreachable),
        (Says(301, b"", {"Location": "http://127.0.0.1:1/"}), Unreachable),
        (Says(200, b"<html>"), Unreachable),
        (Says(200, [1, 2, 3]), Unreachable),
        (Says(200, {"status": "ok", "value": [1]}, {"Content-Length": "1"}), Unreachable),
    ],
)
def test_what_no_waiting_mends_fails_at_once(says, error):
    with (
        scripted(once_each(says)) as gateway,
        Client(gateway.url, timeout=30) as sde,
        pytest.raises(error),
    ):
        sde.list()
    assert len(gateway.asked) == 1


@pytest.mark.parametrize(
    "body",
    [[1], [None], [{"status": [], "body": []}], [{"status": 400, "body": {"code": [1]}}], 7, "x"],
)
def test_a_response_of_any_other_form_fails_one_request_and_no_later_one(body):
    script = once_each(Says(200, body), Says(200, {"status": "ok", "value": []}))
    with scripted(script) as gateway, Client(gateway.url, timeout=2) as sde:
        with pytest.raises((Unreachable, AnswerTimeout)):
            sde.estimate("u", key="k")
        assert sde.list() == ()


@pytest.mark.parametrize("sent", [6, 1 << 70, -1, "2", [1]])
def test_a_number_of_tuples_that_cannot_be_is_an_error(sent):
    busy = problem(503, "not_ready", Retry_After="0")
    script = once_each(busy._replace(body={**busy.body, "sent": sent}), Says(200, {"tuples": 1}))
    with scripted(script) as gateway, Client(gateway.url, timeout=30) as sde:
        with pytest.raises(DeliveryFailed, match="so it is"):
            sde.send_many("d", [("s", {"k": n}) for n in range(5)])
        assert sde.send_many("d", [("s", {"k": 1})]) == 1


def test_positions_of_replies_are_named_by_what_comes_after():
    def script(asked):
        if asked.path == TUPLES:
            return Says(200, {"tuples": 1}, {POSITION: "t7"})
        if asked.method == "PUT":
            return Says(201, {"status": "ok", "uid": "u"}, {POSITION: "c3"})
        return Says(200, {"status": "ok", "value": []})

    with scripted(script) as gateway, Client(gateway.url, timeout=30) as sde:
        sde.list()
        sde.create("count_min", dataset="d", uid="u", key="k")
        sde.list()
        sde.send_many("d", [("s", {"k": "a"})])
        sde.list()
        sde.list()
    named = [each.headers.get(AT_LEAST) for each in gateway.asked]
    assert named == [None, None, "c3", "c3", "t7", "t7"]


def test_positions_of_calls_at_the_same_time_are_named_together():
    met = threading.Barrier(2)

    def script(asked):
        if asked.method == "PUT":
            met.wait(20)
            uid = asked.path.rpartition("/")[2]
            return Says(201, {"status": "ok", "uid": uid}, {POSITION: uid})
        return Says(200, {"status": "ok", "value": []})

    with scripted(script) as gateway, Client(gateway.url, timeout=30) as sde:
        both = [sde.submit_create("fm", dataset="d", uid=uid, key="k") for uid in ("c1", "c2")]
        assert [each.result().uid for each in both] == ["c1", "c2"]
        sde.list()
    assert sorted(gateway.asked[-1].headers[AT_LEAST].split(",")) == ["c1", "c2"]


def test_tuples_that_a_gateway_took_in_part_are_sent_from_there_on():
    busy = problem(503, "not_ready", Retry_After="0")
    partly = busy._replace(body={**busy.body, "sent": 2})
    script = once_each(busy, partly, Says(200, {"tuples": 3}))
    with scripted(script) as gateway, Client(gateway.url, timeout=30) as sde:
        assert sde.send_many("d", [("s", {"k": n}) for n in range(5)]) == 5
    first, second, third = gateway.bodies(TUPLES)
    assert first == second
    assert third == b"\n".join(first.split(b"\n")[2:])


def test_tuples_that_may_have_arrived_are_never_sent_again():
    with scripted(once_each(Says(0))) as gateway, Client(gateway.url, timeout=30) as sde:
        sde.send("d", "s", {"k": 1})
        with pytest.raises(DeliveryFailed, match="may have arrived"):
            sde.flush()
        sde.flush()  # it is told once
    assert len(gateway.bodies(TUPLES)) == 1


def test_tuples_that_are_refused_are_told_with_what_was_sent_before():
    refusal = problem(422, "bad_tuple", "line 3: no stream")
    refusal = refusal._replace(body={**refusal.body, "sent": 2})
    with (
        scripted(once_each(refusal)) as gateway,
        Client(gateway.url, timeout=30) as sde,
        pytest.raises(DeliveryFailed, match=r"line 3: no stream; 2 tuples"),
    ):
        sde.send_many("d", [("s", {"k": n}) for n in range(5)])


def test_closing_ends_what_is_on_its_way():
    answer = threading.Event()

    def script(asked):
        answer.wait(20)
        return Says(200, {"status": "ok", "value": []})

    with scripted(script) as gateway:
        with Client(HttpTransport(gateway.url), timeout=30) as sde:
            pending = [sde.submit("list") for _ in range(3)]
            wait_until(lambda: len(gateway.asked) == 3)
        for each in pending:
            with pytest.raises(ClosedClient):
                each.result()
        answer.set()
