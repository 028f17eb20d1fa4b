"""Answers of watches, from the thread that hears them to the event streams that wait for them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Self

from clients.transport import Message

MOST_UNREAD = 1000  # answers that wait for a slow reader; beyond that the oldest are dropped


class Follower:
    """The answers of some watches, for one event stream. Use it with `with`."""

    def __init__(self, hub: WatchHub, watches: frozenset[str]) -> None:
        self.watches = watches
        self.dropped = False  # since it was last set back
        self.closed = False
        self._hub = hub
        self._unread: deque[Message] = deque()
        self._changed = asyncio.Event()

    def put(self, reply: Message) -> None:
        if len(self._unread) == MOST_UNREAD:
            self._unread.popleft()
            self.dropped = True
        self._unread.append(reply)
        self._changed.set()

    def close(self) -> None:
        self.closed = True
        self._changed.set()

    async def take(self, seconds: float) -> list[Message]:
        """What has come, in its order; nothing if nothing comes within `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return []
        self._changed.clear()
        found = list(self._unread)
        self._unread.clear()
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._hub.leave(self)


class WatchHub:
    """Who follows which watch. Everything but `put` is for the event loop's thread."""

    def __init__(self) -> None:
        self.followers = 0
        self._followers: dict[str, set[Follower]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def put(self, reply: Message) -> None:
        """Called in the listener's thread, with every message of the output topic."""
        watch = reply.get("request")
        if not isinstance(watch, str) or watch not in self._followers or self._loop is None:
            return
        if isinstance(reply.get("number"), int) or "ended" in reply:
            self._loop.call_soon_threadsafe(self._deliver, reply)

    def _deliver(self, reply: Message) -> None:
        for follower in self._followers.get(reply["request"], ()):
            follower.put(reply)

    def follow(self, watches: Iterable[str]) -> Follower:
        """Hears of everything from now on."""
        self._loop = asyncio.get_running_loop()
        follower = Follower(self, frozenset(watches))
        self.followers += 1
        for watch in follower.watches:
            self._followers.setdefault(watch, set()).add(follower)
        return follower

    def leave(self, follower: Follower) -> None:
        self.followers -= 1
        for watch in follower.watches:
            self._followers[watch].discard(follower)
            if not self._followers[watch]:
                del self._followers[watch]

    def close(self) -> None:
        """All event streams end; their readers come back to another gateway."""
        for follower in {one for several in self._followers.values() for one in several}:
            follower.close()
