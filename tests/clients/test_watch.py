"""Watches over the in-memory transport."""

import gc
import threading
from datetime import timedelta

import pytest

from clients import (
    Answer,
    AnswerTimeout,
    BadInput,
    BadQuery,
    Client,
    EngineFailed,
    InMemoryTransport,
    TransportError,
    UnknownWatch,
    Watch,
)
from clients.feed import MOST_UNREAD
from sde.wire import Span, decode_request
from sde.wire import requests as records


@pytest.fixture
def transport() -> InMemoryTransport:
    return InMemoryTransport()


@pytest.fixture
def sde(transport) -> Client:
    return Client(transport, timeout=0.05)


def publish(transport, watch, *numbers) -> None:
    for number in numbers:
        transport.publish({"request": watch.id, "op": "watch", "number": number, "value": number})


def end(transport, watch, reason="deleted") -> None:
    transport.publish({"request": watch.id, "op": "watch", "ended": reason})


def read(watch) -> list[int]:
    return [answer.value for answer in watch]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"every": "1s"}, {"period": 1000}),
        ({"every": timedelta(seconds=0.5)}, {"period": 500}),
        ({"on": "change", "threshold": "5%"}, {"on": "change", "least_change": (0.05, True)}),
        ({"on": "change", "threshold": 5}, {"on": "change", "least_change": (5.0, False)}),
        ({"on": "change", "each": "stream"}, {"on": "change", "each": "stream"}),
        ({"on": "close"}, {"on": "close"}),
        ({"on": "close", "end": 5000}, {"on": "close", "span": Span(5000)}),
        ({"when": ">= 1000"}, {"occasion": "change", "condition": (">=", 1000.0)}),
    ],
)
def test_a_watch_is_a_request_the_engine_can_read(sde, transport, options, expected) -> None:
    watch = sde.synopsis("u").watch("pairs", query={"threshold": 0.9}, stream="s", **options)
    request = decode_request(transport.requests[0], "requests-0-0")
    assert isinstance(request, records.Watch)
    assert watch.id == request.id
    assert request.question.query == {"type": "pairs", "threshold": 0.9}
    assert (request.question.uids, request.question.stream) == (("u",), "s")
    assert {name: getattr(request, name) for name in expected} == expected


def test_iterating_gives_the_answers_until_the_watch_ends(sde, transport) -> None:
    watch = sde.watch("u", every="1s")
    transport.publish(
        {"request": watch.id, "number": 1, "value": 7, "lower": 6, "holds": True}
        | {"window": {"start": 0, "end": 5000}}
    )
    end(transport, watch)
    (answer,) = watch
    assert isinstance(answer, Answer)
    assert (answer.number, answer.value, answer.lower, answer.holds) == (1, 7, 6, True)
    assert answer.window == (0, 5000)
    assert watch.ended == "deleted"
    assert read(watch) == []


def test_answers_that_come_with_the_acknowledgement_are_not_lost() -> None:
    replies = [{"number": 1, "value": 1}, {}, {"number": 2, "value": 2}, {"ended": "deleted"}]
    assert read(Client(InMemoryTransport(lambda request: replies)).watch("u", every="1s")) == [1, 2]


def test_a_number_comes_once_and_the_numbers_grow(sde, transport) -> None:
    watch = sde.watch("u", every="1s")
    publish(transport, watch, 1, 1, 2, 4, 3, 2, 4, 5)
    transport.publish({"request": watch.id, "number": "6"})
    transport.publish({"request": watch.id, "number": None})
    end(transport, watch)
    assert read(watch) == [1, 2, 4, 5]


def test_each_watch_gets_its_own_answers_among_those_of_requests(sde, transport) -> None:
    first, second = (sde.submit_watch("u", every="1s").result() for _ in range(2))
    publish(transport, first, 1)
    publish(transport, second, 1, 2)
    assert sde.create("fm", dataset="d", uid="v").uid == "v"
    assert [first.poll().value, first.poll()] == [1, None]
    assert [second.poll().value, second.poll().value, second.poll()] == [1, 2, None]


def test_a_reader_waits_for_an_answer_of_another_thread(sde, transport) -> None:
    watch = sde.watch("u", every="1s")
    found: list[int] = []
    reader = threading.Thread(target=lambda: found.extend(read(watch)))
    reader.start()
    for number in range(1, 101):
        publish(transport, watch, number)
    end(transport, watch)
    reader.join(10)
    assert found == list(range(1, 101))


def test_several_readers_share_the_answers(sde, transport) -> None:
    watch = sde.watch("u", every="1s")
    found: list[int] = []
    readers = [threading.Thread(target=lambda: found.extend(read(watch))) for _ in range(4)]
    for reader in readers:
        reader.start()
    publish(transport, watch, *range(1, 501))
    end(transport, watch)
    for reader in readers:
        reader.join(10)
    assert sorted(found) == list(range(1, 501))


def test_silence_is_a_timeout_where_one_is_set_and_the_watch_goes_on(sde, transport) -> None:
    watch = sde.watch("u", every="1s", timeout=0.01)
    with pytest.raises(AnswerTimeout, match=r"no answer of watch .* within 0\.01 s") as caught:
        next(watch)
    assert caught.value.request_id == watch.id
    publish(transport, watch, 1)
    assert next(watch).value == 1


def test_leaving_the_block_ends_the_watch(sde, transport) -> None:
    with sde.watch("u", every="1s") as watch:
        publish(transport, watch, 1)
    request = transport.requests[-1]
    assert (request["op"], request["watch"]) == ("unwatch", watch.id)
    decode_request(request, "requests-0-0")
    publish(transport, watch, 2)
    end(transport, watch, "unwatch")
    assert watch.ended == "unwatch"
    watch.unwatch()
    assert [each["op"] for each in transport.requests] == ["watch", "unwatch"]


def test_a_watch_that_has_ended_is_not_ended_again(sde, transport) -> None:
    with sde.watch("u", every="1s") as watch:
        end(transport, watch)
    assert [each["op"] for each in transport.requests] == ["watch"]


def test_a_watch_that_ends_while_it_is_left_is_no_error() -> None:
    def handler(request):
        unknown = {"status": "error", "code": "unknown_watch", "message": "no"}
        return unknown if request["op"] == "unwatch" else {}

    sde = Client(InMemoryTransport(handler))
    with sde.watch("u", every="1s") as watch:
        pass
    assert watch.ended
    with pytest.raises(UnknownWatch):
        sde.unwatch(watch.id)


def test_leaving_by_an_error_tells_that_error_even_if_the_engine_is_silent() -> None:
    silent = InMemoryTransport(lambda request: None if request["op"] == "unwatch" else {})
    sde = Client(silent, timeout=0.01)
    with pytest.raises(ZeroDivisionError), sde.watch("u", every="1s"):
        raise ZeroDivisionError
    with pytest.raises(AnswerTimeout), sde.watch("u", every="1s"):
        pass


def test_a_watch_that_runs_already_is_followed_by_its_id(transport) -> None:
    before = Client(transport).watch("u", every="1s").id
    sde = Client(transport)
    watch = sde.watching(before)
    publish(transport, watch, 17, 18)
    assert [next(watch).value, next(watch).value] == [17, 18]
    with pytest.raises(BadInput, match=before):
        sde.watching(before)
    watch.unwatch()
    assert transport.requests[-1]["watch"] == before


def test_a_watch_nobody_holds_keeps_nothing_and_can_be_followed_again(sde, transport) -> None:
    watch_id = sde.watch("u", every="1s").id
    gc.collect()
    publish(transport, sde.watching(watch_id), 1)
    assert len(sde._connection._mailbox._feeds) == 0


def test_of_answers_nobody_reads_the_oldest_are_dropped_and_counted(sde, transport) -> None:
    watch = sde.watch("u", every="1s")
    publish(transport, watch, *range(1, MOST_UNREAD + 11))
    end(transport, watch)
    assert watch.dropped == 10
    assert read(watch) == list(range(11, MOST_UNREAD + 11))


def test_an_answer_the_engine_could_not_give_is_raised_and_the_watch_goes_on(
    sde, transport
) -> None:
    watch = sde.watch("u", every="1s")
    failed = {"status": "error", "code": "incomplete", "message": "no"}
    transport.publish({"request": watch.id, "number": 1, **failed})
    publish(transport, watch, 2)
    with pytest.raises(EngineFailed):
        next(watch)
    assert next(watch).value == 2


def test_a_refused_watch_raises_and_is_not_followed() -> None:
    fault = {"status": "error", "code": "bad_query", "message": "no"}
    sde = Client(InMemoryTransport(lambda request: fault))
    with pytest.raises(BadQuery):
        sde.watch("u", every="1s")
    gc.collect()
    assert len(sde._connection._mailbox._feeds) == 0


def test_closing_the_client_fails_those_who_wait_and_leaves_the_watch_running(transport) -> None:
    with Client(transport) as sde:
        watch = sde.watch("u", every="1s")
        publish(transport, watch, 1)
    assert next(watch).value == 1
    with pytest.raises(TransportError, match="closed"):
        next(watch)
    assert [each["op"] for each in transport.requests] == ["watch"]


def test_thousands_of_watches_are_begun_at_once(sde, transport) -> None:
    pending = [sde.submit_watch(f"u{n}", every="1s") for n in range(2000)]
    watches = [each.result() for each in pending]
    assert all(isinstance(watch, Watch) for watch in watches)
    for watch in watches:
        publish(transport, watch, 1)
    assert [next(watch).number for watch in watches] == [1] * 2000
