"""Requests out, replies in: the half of a client that asks."""

from __future__ import annotations

import threading
import uuid
import weakref
from collections.abc import Callable, Iterable
from typing import Protocol, Self, TypeVar

from msgspec import structs

from clients.closed import ClosedTransport
from clients.errors import ClientError, ClosedClient, Refused
from clients.feed import Feed
from clients.pending import Mailbox, Pending, T
from clients.records import Records, declared_columns
from clients.transport import Message, OnReply, Transport
from clients.tuples import plain
from sde.wire import Ask, Code, ListAll, Request, Streams, Watches
from sde.wire.requests import LARGEST_PAGE

Paged = ListAll | Streams | Watches | Ask  # requests whose answer is a list that comes in pages


class Item(Protocol):
    """What a reply with a list has: a class that reads an object of JSON."""

    @classmethod
    def of(cls, reply: Message, /) -> Self: ...


ItemT = TypeVar("ItemT", bound=Item)


class Connection:
    """Listens from the first request on. May be used by several threads.

    `overhear` gets every message of the output topic, in the listener's thread.
    """

    def __init__(
        self, transport: Transport, timeout: float, overhear: OnReply | None = None
    ) -> None:
        self._transport: Transport = transport
        self._timeout = timeout
        self._mailbox = Mailbox()
        self._overhear = overhear
        self._listening = False
        self._lock = threading.Lock()

    def submit(
        self, request: Request, read: Callable[[Message], T | Pending[T]], at_least: float = 0.0
    ) -> Pending[T]:
        """Send a request; `read` makes its result of the reply.

        `at_least`: seconds to wait for what is known to take long.
        """
        return self.submit_message(_message(request), read, at_least)

    def submit_list(self, request: Request, item: type[ItemT]) -> Pending[Records[ItemT]]:
        """Send a request whose answer is a list of such items."""
        return self.submit(request, lambda reply: _listed(reply["value"], item, reply))

    def submit_pages(
        self, request: Paged, item: type[ItemT], found: tuple[Message, ...] = ()
    ) -> Pending[Records[ItemT]]:
        """The same for a list that comes in pages, one request each; `found` came before."""
        limit = request.limit or LARGEST_PAGE
        page = structs.replace(request, limit=limit)

        def read(reply: Message) -> Records[ItemT] | Pending[Records[ItemT]]:
            listed = (*found, *reply["value"])
            if "next" not in reply:
                return _listed(listed, item, reply)
            return self.submit_pages(structs.replace(page, after=reply["next"]), item, listed)

        def smaller(refusal: Refused) -> Pending[Records[ItemT]]:
            if refusal.code != Code.TOO_LARGE or limit == 1:
                raise refusal
            return self.submit_pages(structs.replace(page, limit=max(1, limit // 8)), item, found)

        return self.submit_message(_message(page), read, on_refusal=smaller)

    def submit_message(
        self,
        fields: Message,
        read: Callable[[Message], T | Pending[T]],
        at_least: float = 0.0,
        on_refusal: Callable[[Refused], Pending[T]] | None = None,
    ) -> Pending[T]:
        """Send a request as it is on the wire; a field that is None is left out."""
        self._listen()
        present = {name: value for name, value in fields.items() if value is not None}
        request = {"id": uuid.uuid4().hex, **present}
        request_id = request["id"]

        def on_timeout() -> str:
            self._mailbox.give_up(request)
            return self.trouble()

        future = self._mailbox.expect(request_id)
        try:
            self._transport.send_request(
                request, lambda error: self._mailbox.fail(request_id, error)
            )
        except ClientError:
            self._mailbox.forget(request_id)
            raise
        seconds = max(self._timeout, at_least)
        return Pending(request, future, read, seconds, on_timeout, on_refusal)

    def follow(self, watch_id: str, *, runs: bool) -> Feed:
        """The numbered answers of a watch, beginning now; it `runs`, or is to be begun."""
        self._listen()
        feed = self._mailbox.follow(watch_id)
        # When nobody holds it any more, nobody reads.
        weakref.finalize(feed, self._transport.leave, watch_id).atexit = False
        self._transport.follow(watch_id, runs=runs)
        return feed

    def trouble(self) -> str:
        return self._transport.trouble()

    def close(self) -> None:
        """Requests in flight fail, later ones at once."""
        with self._lock:
            self._transport, self._listening = ClosedTransport(), False
        self._mailbox.fail_all(ClosedClient("the client was closed"))

    def _listen(self) -> None:
        with self._lock:
            if not self._listening:
                self._transport.listen(self._deliver)
                self._listening = True

    def _deliver(self, reply: Message) -> None:
        if self._overhear is not None:
            self._overhear(reply)
        self._mailbox.deliver(reply)


def _listed(found: Iterable[Message], item: type[ItemT], last: Message) -> Records[ItemT]:
    """An empty list has the columns that a full one may have. `last`: the reply that ended it."""
    return Records(map(item.of, found), declared_columns(item), last.get("warnings", ()))


def _message(request: Request) -> Message:
    """The message that decodes to the request.

    Users pass what Python has: numbers of numpy, datetimes. They become JSON's here, so that
    every transport gets plain values, or BadInput says which value cannot be sent.
    """
    declared = structs.fields(request)
    values = {field.encode_name: getattr(request, field.name) for field in declared}
    defaults = {field.encode_name: field.default for field in declared}
    fields = {name: value for name, value in values.items() if value != defaults[name]}
    return plain({"op": request.op, **fields})
