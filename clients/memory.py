"""A transport without Kafka, for tests of programs that use the client."""

from __future__ import annotations

from collections.abc import Callable

from clients.transport import Message, OnFailure, OnReply
from clients.tuples import decode

Handler = Callable[[Message], "Message | list[Message] | None"]


class InMemoryTransport:
    """Answers from a function; keeps what was sent, in `lanes` lanes.

    `handler` gets a request and returns its reply, several, or None for silence. What every
    reply has (`id`, `request`, `op`, `status`) is filled in where the handler leaves it out.

    What the engine says unasked, such as later answers of a watch, comes with `publish`.

    >>> transport = InMemoryTransport(lambda request: {"value": 2.0})
    """

    def __init__(self, handler: Handler = lambda request: {}, *, lanes: int = 1) -> None:
        self.lanes = lanes
        self.requests: list[Message] = []
        self.data: list[bytes] = []
        self.data_of_lane: list[list[bytes]] = [[] for _ in range(lanes)]
        self.closed = False
        self._handler = handler
        self._on_reply: OnReply | None = None

    def __repr__(self) -> str:
        return "InMemoryTransport()"

    @property
    def tuples(self) -> list[Message]:
        """Every tuple sent so far, in whatever form it was sent."""
        return [one for payload in self.data for one in decode(payload)]

    def listen(self, on_reply: OnReply) -> None:
        self._on_reply = on_reply

    def send_request(self, request: Message, on_failure: OnFailure) -> None:
        self.requests.append(request)
        replies = self._handler(request)
        for reply in [replies] if isinstance(replies, dict) else replies or []:
            self.publish({"request": request["id"], "op": request["op"], **reply})

    def publish(self, reply: Message) -> None:
        """A message on the output topic, now: `{"request": watch.id, "number": 2, "value": 1}`."""
        head = {"id": f"{reply['request']}/{reply.get('number', 0)}", "status": "ok"}
        if self._on_reply is not None:
            self._on_reply({**head, **reply})

    def follow(self, watch_id: str, *, runs: bool) -> None:
        pass

    def leave(self, watch_id: str) -> None:
        pass

    def send_data(self, payload: bytes, *, lane: int) -> None:
        self.data.append(payload)
        self.data_of_lane[lane].append(payload)

    def flush(self) -> None:
        pass

    def trouble(self) -> str:
        return ""

    def close(self) -> None:
        self.closed = True
