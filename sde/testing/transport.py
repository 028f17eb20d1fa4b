"""A client's way to a LocalEngine: `Client(LocalTransport())` asks the real stages."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from sde.testing.engine import LocalEngine, Reply

OnReply = Callable[[Reply], None]


class LocalTransport:
    """What `clients.Client` takes in the place of an address. Every request is a micro-batch.

    Replies come before `send_request` returns. Time passes when `tick` says so: watches by the
    clock answer then. Tuples count from the next request, `flush` or `tick` on.
    """

    lanes = 1

    def __init__(self, engine: LocalEngine | None = None) -> None:
        self.engine = engine or LocalEngine()
        self._data: list[bytes] = []
        self._on_reply: OnReply | None = None
        self._lock = threading.RLock()  # a client may be used by several threads

    def listen(self, on_reply: OnReply) -> None:
        self._on_reply = on_reply

    def send_request(self, request: dict[str, Any], on_failure: Callable[..., None]) -> None:
        self._batch([request])

    def follow(self, watch_id: str, *, runs: bool) -> None:
        pass  # a client hears of all

    def leave(self, watch_id: str) -> None:
        pass

    def send_data(self, payload: bytes, *, lane: int) -> None:
        with self._lock:
            self._data.append(payload)

    def tick(self, time: int) -> None:
        """Let the clock go on to `time`, ms since the epoch."""
        with self._lock:
            self.engine.tick(time, caught_up=True)
            self._batch([])

    def flush(self) -> None:
        self._batch([])

    def trouble(self) -> str:
        return ""

    def close(self) -> None:
        self.flush()

    def _batch(self, requests: list[dict[str, Any]]) -> None:
        with self._lock:
            data, self._data = self._data, []
            replies = self.engine.replies(requests, data) + self.engine.settle()
        for reply in replies:
            if self._on_reply is not None:
                self._on_reply(reply)
