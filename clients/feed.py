"""The answers of one watch, between the thread that hears them and the one that reads them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from clients.errors import TransportError
from clients.transport import Message

MOST_UNREAD = 1000


class Feed:
    """Each number once, in order. Of answers nobody reads the oldest are dropped, and counted."""

    def __init__(self) -> None:
        self.ended = ""  # why; "" as long as more may come
        self.dropped = 0
        self._unread: deque[Message] = deque()
        self._last = 0
        self._failure: TransportError | None = None
        self._changed = threading.Condition()
        self._on_change: Callable[[], None] = lambda: None

    def tell(self, on_change: Callable[[], None]) -> None:
        """Call this, in the thread that hears, whenever `take` may have something."""
        self._on_change = on_change

    def put(self, reply: Message) -> None:
        number = reply.get("number")
        with self._changed:
            # The number may stand on the last message too, which is no answer.
            if reply.get("ended") is not None:
                self.ended = self.ended or str(reply["ended"]) or "ended"
            elif isinstance(number, int) and number > self._last:
                self._last = number
                if len(self._unread) == MOST_UNREAD:
                    self._unread.popleft()
                    self.dropped += 1
                self._unread.append(reply)
            self._changed.notify_all()
        self._on_change()

    def fail(self, failure: TransportError) -> None:
        with self._changed:
            self._failure = failure
            self._changed.notify_all()
        self._on_change()

    def take(self, seconds: float | None) -> Message | None:
        """The next answer; None if it ended, or if none comes within `seconds`."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._unread or self.ended or self._failure is not None, seconds
            )
            if self._unread:
                return self._unread.popleft()
            if self._failure is not None and not self.ended:
                raise self._failure
            return None
