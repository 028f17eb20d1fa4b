"""The way to the engine: messages of the wire out, replies in, as coroutines."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from clients.connection import Connection
from clients.errors import ClientError, Unreachable
from clients.transport import Message, OnDelivered, Transport
from clients.tuples import encode
from service.gateway.counts import Counts
from service.gateway.hub import WatchHub
from service.gateway.lane_process import Lane
from service.gateway.position import NOWHERE, Position

_SENDERS = 4  # threads that hand requests to the transport; each hand-over takes microseconds
_SECONDS_BETWEEN_LOOKS, _SECONDS_TO_ANSWER = 1.0, 3.0  # when it is asked whether it is there
_UPLOADS = 16  # bodies with tuples that are sent at the same time; others wait
_SHARE_OF_LANE = 0.5  # of the time for an answer; then there is as much for the engine


class DataWay:
    """A transport for tuples, and how far those reach that it delivered for its present user."""

    def __init__(self, open_transport: Callable[[OnDelivered], Transport]) -> None:
        self._reached: dict[tuple[str, int], int] = {}
        self.transport = open_transport(self._note)

    def _note(self, topic: str, partition: int, offset: int) -> None:
        """Called in the thread that sends."""
        place = topic, partition
        self._reached[place] = max(offset + 1, self._reached.get(place, 0))

    def take_position(self) -> Position:
        """Of what was delivered since it was last taken."""
        reached, self._reached = self._reached, {}
        return Position(offsets=reached)


class EngineDoor:
    """Made by `app`, used by everything below it, in one event loop.

    `lane` is tried before the transport: None from it means that it cannot answer. `open_data`
    makes a transport for the tuples of one body at a time, so that a failure to deliver meets the
    request whose tuples they are; without it all share `transport`.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        lane: Lane | None = None,
        open_data: Callable[[OnDelivered], Transport] | None = None,
        counts: Counts | None = None,
    ) -> None:
        self.hub = WatchHub()
        self.counts = counts or Counts()
        self._transport, self._lane = transport, lane
        self._connection = Connection(transport, 0.0, self.hub.put)
        self._open_data = open_data
        self._idle: list[DataWay] = []
        self._uploads = asyncio.Semaphore(_UPLOADS)
        self._senders = ThreadPoolExecutor(_SENDERS, "gateway-asks")
        self.readers = ThreadPoolExecutor(_UPLOADS, "gateway-tuples")  # of bodies with tuples
        self._in_flight: dict[bytes, asyncio.Task[Message]] = {}  # by the message
        self._silence, self._look_again = "it was not asked yet", 0.0

    async def ask(
        self,
        message: Message,
        timeout: float,
        *,
        fresh: bool = False,
        at_least: Position = NOWHERE,
    ) -> Message:
        """The reply to a message, which has an `id`; ClientError if none comes.

        `fresh` passes the lane by, which otherwise waits until it is as far as `at_least`. Of a
        message that is in flight already the one reply serves both, as the engine has one outcome
        for both; BadInput if only its id is: whoever knows the id of somebody else's request must
        not get the reply.
        """
        began = time.monotonic()
        if self._lane is not None and not fresh:
            reply = await self._lane.reply(message, timeout * _SHARE_OF_LANE, at_least)
            if reply is not None:
                self.counts.on_answer("lane", time.monotonic() - began)
                return reply
            timeout -= time.monotonic() - began
        key = encode(message)
        task = self._in_flight.get(key)
        if task is None:
            task = asyncio.create_task(self._ask(message, timeout))
            self._in_flight[key] = task
            task.add_done_callback(partial(self._settled, key))
        reply = await asyncio.shield(task)
        self.counts.on_answer("kafka", time.monotonic() - began)
        return reply

    async def _ask(self, message: Message, timeout: float) -> Message:
        submit = partial(self._connection.submit_message, message, lambda reply: reply)
        pending = None
        try:
            async with asyncio.timeout(timeout):
                # While Kafka is away this waits; what has not begun by then is not sent later.
                pending = await asyncio.get_running_loop().run_in_executor(self._senders, submit)
                # Shielded: the listener's thread could not hand over a reply that is cancelled.
                return await asyncio.shield(asyncio.wrap_future(pending.reply))
        except TimeoutError:
            if pending is None:
                raise Unreachable(f"Kafka took no request within {timeout:g} s") from None
            raise pending.late(timeout) from None

    def _settled(self, key: bytes, task: asyncio.Task[Message]) -> None:
        del self._in_flight[key]
        if not task.cancelled():
            task.exception()  # seen, also if whoever asked is gone

    async def why_silent(self) -> str:
        """Why the engine does not answer; "" if it does. It is asked once a second at most."""
        now = asyncio.get_running_loop().time()
        if now >= self._look_again:
            self._look_again = now + _SECONDS_BETWEEN_LOOKS
            try:
                message = {"op": "watches", "id": uuid.uuid4().hex, "limit": 1}
                await self.ask(message, _SECONDS_TO_ANSWER, fresh=True)
                self._silence = ""
            except ClientError as error:
                self._silence = str(error)
        return self._silence

    @contextlib.asynccontextmanager
    async def data(self, timeout: float) -> AsyncIterator[DataWay]:
        """A way for tuples that nobody else uses meanwhile; TimeoutError if all are in use.

        Whoever has it flushes its transport, whatever happens, and takes its position: the next
        one begins with nothing on its way.
        """
        async with asyncio.timeout(timeout):
            await self._uploads.acquire()
        try:
            if self._open_data is None:
                yield DataWay(lambda _: self._transport)
                return
            way = self._idle.pop() if self._idle else DataWay(self._open_data)
            try:
                yield way
            finally:
                way.take_position()
                self._idle.append(way)
        finally:
            self._uploads.release()

    async def close_lane(self) -> None:
        """In the event loop, before `close`."""
        if self._lane is not None:
            await self._lane.close()

    def close(self) -> None:
        """Requests in flight fail; tuples that were sent are delivered."""
        self._senders.shutdown()
        self.readers.shutdown()
        self._connection.close()
        for transport in [self._transport, *(way.transport for way in self._idle)]:
            with contextlib.suppress(ClientError):
                transport.close()
