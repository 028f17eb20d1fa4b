"""What a client has in the place of its transport after `close`."""

from __future__ import annotations

from typing import NoReturn

from clients.errors import ClosedClient
from clients.transport import Message, OnFailure, OnReply


class ClosedTransport:
    """Refuses everything but to be closed again."""

    def __repr__(self) -> str:
        return "closed"

    @property
    def lanes(self) -> int:
        refuse_closed()

    def listen(self, on_reply: OnReply) -> None:
        refuse_closed()

    def send_request(self, request: Message, on_failure: OnFailure) -> None:
        refuse_closed()

    def follow(self, watch_id: str, *, runs: bool) -> None:
        refuse_closed()

    def leave(self, watch_id: str) -> None:
        pass

    def send_data(self, payload: bytes, *, lane: int) -> None:
        refuse_closed()

    def flush(self) -> None:
        refuse_closed()

    def trouble(self) -> str:
        return ""

    def close(self) -> None:
        pass


def refuse_closed() -> NoReturn:
    """What every use of a closed client raises."""
    raise ClosedClient("the client is closed: make a new one, or ask inside its `with` block")
