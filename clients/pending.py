"""Requests in flight: which answer belongs to whom, and until when it is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from clients.errors import AnswerTimeout, BadInput, TransportError, refused
from clients.transport import Message

T = TypeVar("T")


class Mailbox:
    """Hands each reply to the request it answers.

    A request has one reply: whoever waited is gone when a duplicate comes, so it is dropped.
    Filled by the sender's thread and emptied by the listener's; one dict operation each.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Future[Message]] = {}

    def expect(self, request_id: str) -> Future[Message]:
        future: Future[Message] = Future()
        if self._waiting.setdefault(request_id, future) is not future:
            raise BadInput(f"id={request_id!r}: expected an id that no request in flight has")
        return future

    def deliver(self, reply: Message) -> None:
        request_id = reply.get("request")
        future = self.forget(request_id) if isinstance(request_id, str) else None
        if future is not None:
            future.set_result(reply)

    def fail(self, request_id: str, error: TransportError) -> None:
        future = self.forget(request_id)
        if future is not None:
            future.set_exception(error)

    def fail_all(self, error: TransportError) -> None:
        for request_id in list(self._waiting):
            self.fail(request_id, error)

    def forget(self, request_id: str) -> Future[Message] | None:
        return self._waiting.pop(request_id, None)


class Pending(Generic[T]):
    """An answer that is on its way."""

    def __init__(
        self,
        request: Message,
        reply: Future[Message],
        read: Callable[[Message], T],
        timeout: float,
        on_timeout: Callable[[], str],
    ) -> None:
        self.request = request
        self._reply = reply
        self._read = read
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._on_timeout = on_timeout

    def done(self) -> bool:
        """True when `result` will not wait."""
        return self._reply.done() or time.monotonic() >= self._deadline

    def result(self) -> T:
        """Wait for the answer; Refused if the engine refused, AnswerTimeout if it is silent."""
        try:
            reply = self._reply.result(max(0.0, self._deadline - time.monotonic()))
        except TimeoutError:
            raise self._late() from None
        if reply.get("status") == "error":
            raise refused(reply)
        return self._read(reply)

    def _late(self) -> AnswerTimeout:
        trouble = self._on_timeout()
        return AnswerTimeout(
            f"no answer to {self.request['op']} ({self.request['id']}) within {self._timeout:g} s"
            + (f"; last trouble: {trouble}" if trouble else ""),
            self.request["id"],
        )
