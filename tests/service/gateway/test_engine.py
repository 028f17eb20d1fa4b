"""The gateway's way to the engine, on a transport without Kafka."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from clients import InMemoryTransport
from clients.errors import AnswerTimeout, BadInput, ClosedClient, Unreachable
from service.gateway.engine import EngineDoor

MESSAGE = {"op": "list", "id": "q"}


@contextmanager
def door_to(transport, **options):
    door = EngineDoor(transport, **options)
    try:
        yield door
    finally:
        door.close()


def test_a_reply_belongs_to_its_request():
    async def ask_many(door):
        messages = [{"op": "list", "id": f"q{n}"} for n in range(100)]
        return await asyncio.gather(*(door.ask(message, 10) for message in messages))

    with door_to(InMemoryTransport(lambda request: {"value": request["id"]})) as door:
        found = asyncio.run(ask_many(door))
    assert [each["value"] for each in found] == [f"q{n}" for n in range(100)]


def test_requests_with_one_id_are_one_request():
    async def ask_twice(door):
        return await asyncio.gather(door.ask(MESSAGE, 10), door.ask(MESSAGE, 10))

    transport = InMemoryTransport(lambda request: {"value": 7})
    with door_to(transport) as door:
        first, second = asyncio.run(ask_twice(door))
    assert first == second
    assert len(transport.requests) == 1


def test_silence_ends_in_time_and_a_late_reply_does_no_harm():
    transport = InMemoryTransport(lambda request: None)
    with door_to(transport) as door:

        async def ask():
            with pytest.raises(AnswerTimeout, match=r"within 0\.05 s"):
                await door.ask(MESSAGE, 0.05)
            transport.publish({"request": "q", "value": 1})

        asyncio.run(ask())


def test_while_kafka_is_away_nothing_waits_longer_than_it_may():
    back = threading.Event()

    class Away(InMemoryTransport):
        def send_request(self, request, on_failure):
            back.wait(10)
            super().send_request(request, on_failure)

    async def ask_many(door):
        messages = [{"op": "list", "id": f"q{n}"} for n in range(50)]
        asked = (door.ask(message, 0.1) for message in messages)
        return await asyncio.gather(*asked, return_exceptions=True)

    transport = Away()
    with door_to(transport) as door:
        found = asyncio.run(ask_many(door))
        back.set()
    assert {type(each) for each in found} == {Unreachable}
    assert len(transport.requests) < 10  # those that had begun; the others are not sent later


def test_the_id_of_a_request_in_flight_does_not_give_its_reply_to_another():
    transport = InMemoryTransport(lambda request: None)

    async def ask(door):
        same = [asyncio.create_task(door.ask(MESSAGE, 10)) for _ in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(BadInput, match="expected an id that no request in flight has"):
            await door.ask({**MESSAGE, "uid": "of somebody else"}, 10)
        transport.publish({"request": MESSAGE["id"], "op": MESSAGE["op"], "value": 1})
        return await asyncio.gather(*same)

    with door_to(transport) as door:
        assert [reply["value"] for reply in asyncio.run(ask(door))] == [1, 1]
    assert len(transport.requests) == 1


def test_requests_in_flight_fail_when_the_door_closes():
    door = EngineDoor(InMemoryTransport(lambda request: None))

    async def ask():
        asked = asyncio.create_task(door.ask(MESSAGE, 10))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(door.close)
        return await asked

    with pytest.raises(ClosedClient):
        asyncio.run(ask())


def test_each_body_with_tuples_has_a_transport_of_its_own():
    opened = []

    def open_data(on_delivered):
        opened.append(InMemoryTransport())
        return opened[-1]

    async def use(door):
        async with door.data(1) as one, door.data(1) as other:
            assert one is not other
        async with door.data(1) as again:
            assert again in (one, other)

    with door_to(InMemoryTransport(), open_data=open_data) as door:
        asyncio.run(use(door))
    assert len(opened) == 2
    assert all(transport.closed for transport in opened)
