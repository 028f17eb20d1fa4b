"""How requests and tuples leave and answers return. Swap this to test without Kafka."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from clients.errors import TransportError

Message = dict[str, Any]
OnReply = Callable[[Message], None]
OnFailure = Callable[[TransportError], None]
OnDelivered = Callable[[str, int, int], None]  # topic, partition, offset of a message


@dataclass(frozen=True, slots=True)
class Topics:
    """The names of an engine's topics."""

    requests: str = "sde-requests"
    data: str = "sde-data"
    output: str = "sde-output"
    dead_letters: str = "sde-dead-letters"


class Transport(Protocol):
    @property
    def lanes(self) -> int:
        """How many ways tuples can take; the same for as long as the transport lives."""

    def listen(self, on_reply: OnReply) -> None:
        """Hand every message of the output topic to `on_reply`, beginning now."""

    def send_request(self, request: Message, on_failure: OnFailure) -> None:
        """Send without waiting; `on_failure` is called if the request cannot be delivered."""

    def follow(self, watch_id: str, *, runs: bool) -> None:
        """Answers of this watch are wanted, until `leave`; it `runs`, or is to be begun now."""

    def leave(self, watch_id: str) -> None:
        """Nobody reads its answers any more. Does not wait, and takes no lock."""

    def send_data(self, payload: bytes, *, lane: int) -> None:
        """Send without waiting. Messages of one lane keep their order."""

    def flush(self) -> None:
        """Return when all data is delivered; DeliveryFailed if some is not."""

    def trouble(self) -> str:
        """Why an answer may be missing, as far as it is known here; "" if nothing is."""

    def close(self) -> None:
        """Stop listening and flush."""
