"""Requests in flight: which answer belongs to whom, and until when it is waited for."""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from clients.errors import AnswerTimeout, BadInput, Refused, TransportError, refused
from clients.feed import Feed
from clients.suggestions import with_hint
from clients.transport import Message
from sde.wire.requests import READS

T = TypeVar("T")
_LOGGER = logging.getLogger("clients")
_MOST_LATE = 1_000  # requests that nobody waits for any more whose reply is told
_READS = frozenset(read.__struct_config__.tag for read in READS)


class Mailbox:
    """Hands each reply to the request it answers.

    A request has one reply: whoever waited is gone when a duplicate comes, so it is dropped. What
    became of a change whose caller had given up is told in the log.
    Filled by the sender's thread and emptied by the listener's; one dict operation each.
    The answers of a watch have the watch's id and a number, or tell that it ended.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Future[Message]] = {}
        self._given_up: dict[str, Message] = {}  # changes, the oldest first
        # Weak: when nobody holds a watch any more, its answers are kept for nobody.
        self._feeds: weakref.WeakValueDictionary[str, Feed] = weakref.WeakValueDictionary()

    def expect(self, request_id: str) -> Future[Message]:
        future: Future[Message] = Future()
        if self._waiting.setdefault(request_id, future) is not future:
            raise BadInput(f"id={request_id!r}: expected an id that no request in flight has")
        return future

    def follow(self, watch_id: str) -> Feed:
        feed = Feed()
        if self._feeds.setdefault(watch_id, feed) is not feed:
            raise BadInput(f"watch={watch_id!r}: expected one that this client does not follow yet")
        return feed

    def deliver(self, reply: Message) -> None:
        request_id = reply.get("request")
        if not isinstance(request_id, str):
            return
        if "number" in reply or "ended" in reply:
            feed = self._feeds.get(request_id)
            if feed is not None:
                feed.put(reply)
            return
        future = self.forget(request_id)
        if future is not None:
            future.set_result(reply)
        elif (request := self._given_up.pop(request_id, None)) is not None:
            _LOGGER.warning("%s", _late_news(request, reply))

    def give_up(self, request: Message) -> None:
        """Nobody waits for the reply any more."""
        self.forget(request["id"])
        if request["op"] not in _READS:
            self._given_up[request["id"]] = request
            if len(self._given_up) > _MOST_LATE:
                self._given_up.pop(next(iter(self._given_up)), None)

    def fail(self, request_id: str, error: TransportError) -> None:
        future = self.forget(request_id)
        if future is not None:
            future.set_exception(error)

    def fail_all(self, error: TransportError) -> None:
        for request_id in list(self._waiting):
            self.fail(request_id, error)
        for feed in list(self._feeds.values()):
            feed.fail(error)

    def forget(self, request_id: str) -> Future[Message] | None:
        return self._waiting.pop(request_id, None)


def _late_news(request: Message, reply: Message) -> str:
    of = f"{request['op']} {request.get('uid', '')}".rstrip()
    outcome = "was done"
    if reply.get("status") == "error":
        outcome = f"was refused: {reply.get('message', reply.get('code'))}"
    return f"{of} ({request['id']}), which was not answered in time, {outcome}"


class Pending(Generic[T]):
    """An answer that is on its way.

    `read` makes the result of the reply, or sends the next request and returns what is on its way
    then: lists come in pages. `on_refusal` may do the latter too, or raise.
    """

    def __init__(
        self,
        request: Message,
        reply: Future[Message],
        read: Callable[[Message], T | Pending[T]],
        timeout: float,
        on_timeout: Callable[[], str],
        on_refusal: Callable[[Refused], Pending[T]] | None = None,
    ) -> None:
        self.request = request
        self.reply = reply  # for those who wait in another way; nobody may cancel it
        self._read = read
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._on_timeout = on_timeout
        self._on_refusal = on_refusal

    def done(self) -> bool:
        """True when `result` will not wait."""
        return self.reply.done() or time.monotonic() >= self._deadline

    def result(self) -> T:
        """Wait for the answer; Refused if the engine refused, AnswerTimeout if it is silent."""
        found: T | Pending[T] = self
        while isinstance(found, Pending):
            found = found.settle(found._reply())
        return found

    def _reply(self) -> Message:
        try:
            return self.reply.result(max(0.0, self._deadline - time.monotonic()))
        except TimeoutError:
            raise self.late(self._timeout) from None

    async def arrival(self) -> Message:
        """The reply; AnswerTimeout if none comes in time. For event loops: does not block."""
        if self.reply.done():
            return self.reply.result()
        try:
            async with asyncio.timeout(max(0.0, self._deadline - time.monotonic())):
                # Shielded: the listener's thread could not hand over a reply that is cancelled.
                return await asyncio.shield(asyncio.wrap_future(self.reply))
        except TimeoutError:
            raise self.late(self._timeout) from None

    def settle(self, reply: Message) -> T | Pending[T]:
        """What the reply means; Refused if it is a fault."""
        if reply.get("status") != "error":
            return self._read(reply)
        refusal = with_hint(refused(reply), self.request)
        if self._on_refusal is None:
            raise refusal
        return self._on_refusal(refusal)

    def __repr__(self) -> str:
        state = "done" if self.done() else "waiting"
        return f"<Pending {self.request['op']} ({self.request['id']}): {state}>"

    def late(self, seconds: float) -> AnswerTimeout:
        """Wait no longer; the error that says so, after as many seconds."""
        trouble = self._on_timeout()
        return AnswerTimeout(
            f"no answer to {self.request['op']} ({self.request['id']}) within {seconds:g} s"
            + (f": {trouble}" if trouble else "")
            + ("" if self.request["op"] in _READS else "; it may still be done later"),
            self.request["id"],
        )
