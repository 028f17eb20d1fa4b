"""The way to the engine: messages of the wire out, replies in, as coroutines."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from clients.connection import Connection
from clients.errors import ClientError, Unreachable
from clients.transport import Message, Transport
from clients.tuples import encode
from service.gateway.hub import WatchHub

Lane = Callable[[Message], Awaitable[Message | None]]
_SENDERS = 4  # threads that hand requests to the transport; each hand-over takes microseconds
_SECONDS_BETWEEN_LOOKS, _SECONDS_TO_ANSWER = 1.0, 3.0  # when it is asked whether it is there
_UPLOADS = 16  # bodies with tuples that are sent at the same time; others wait


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
        open_data: Callable[[], Transport] | None = None,
    ) -> None:
        self.hub = WatchHub()
        self._transport, self._lane = transport, lane
        self._connection = Connection(transport, 0.0, self.hub.put)
        self._open_data = open_data
        self._idle: list[Transport] = []
        self._uploads = asyncio.Semaphore(_UPLOADS)
        self._senders = ThreadPoolExecutor(_SENDERS, "gateway-asks")
        self.readers = ThreadPoolExecutor(_UPLOADS, "gateway-tuples")  # of bodies with tuples
        self._in_flight: dict[bytes, asyncio.Task[Message]] = {}  # by the message
        self._silence, self._look_again = "it was not asked yet", 0.0

    async def ask(self, message: Message, timeout: float, *, fresh: bool = False) -> Message:
        """The reply to a message, which has an `id`; ClientError if none comes.

        `fresh` passes the lane by. Of a message that is in flight already the one reply serves
        both, as the engine has one outcome for both; BadInput if only its id is: whoever knows the
        id of somebody else's request must not get the reply.
        """
        if self._lane is not None and not fresh:
            reply = await self._lane(message)
            if reply is not None:
                return reply
        key = encode(message)
        task = self._in_flight.get(key)
        if task is None:
            task = asyncio.create_task(self._ask(message, timeout))
            self._in_flight[key] = task
            task.add_done_callback(partial(self._settled, key))
        return await asyncio.shield(task)

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
    async def data(self, timeout: float) -> AsyncIterator[Transport]:
        """A transport for tuples that nobody else uses meanwhile; TimeoutError if all are in use.

        Whoever has it flushes it, whatever happens: the next one begins with nothing on its way.
        """
        async with asyncio.timeout(timeout):
            await self._uploads.acquire()
        try:
            if self._open_data is None:
                yield self._transport
                return
            transport = self._idle.pop() if self._idle else self._open_data()
            try:
                yield transport
            finally:
                self._idle.append(transport)
        finally:
            self._uploads.release()

    def close(self) -> None:
        """Requests in flight fail; tuples that were sent are delivered."""
        self._senders.shutdown()
        self.readers.shutdown()
        self._connection.close()
        for transport in [self._transport, *self._idle]:
            with contextlib.suppress(ClientError):
                transport.close()
