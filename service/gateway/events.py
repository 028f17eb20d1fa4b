"""Answers of watches as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import orjson
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from clients.transport import Message
from sde.wire import Code
from service.gateway.call import Call, told
from service.gateway.datasets import check_uids, find_watch
from service.gateway.hub import Follower
from service.gateway.problems import BUSY, Problem
from service.gateway.reading import text_header
from service.gateway.replay import Position, missed

HEARTBEAT_SECONDS = 15.0
MOST_WATCHES = 100  # of one stream
_HEAD = b": the answers from now on\nretry: 2000\n\n"
_BEAT = b": still here\n\n"


async def follow_events(call: Call) -> Response:
    """The answers of a watch, or of several, as they come; those since `Last-Event-ID` first."""
    watches = _watches(call)
    position = _position(call, watches)
    hub = call.door.hub
    if hub.followers >= call.settings.event_streams:
        raise Problem(503, BUSY, f"{hub.followers:,} streams of events are open: the limit")
    follower = hub.follow(watches)  # first, so that nothing is missed meanwhile
    try:
        events = _Events(watches)
        gone = await _gone(call, watches, position)
        earlier = await events.earlier(call, position) if position is not None else []
        for watch in gone & events.running:  # nothing says that it ended: it never was
            raise _unknown(watch)
    except BaseException:
        hub.leave(follower)
        raise
    return _EventResponse(follower, events.lines(call, follower, earlier))


class _EventResponse(StreamingResponse):
    """Follows as long as somebody reads."""

    def __init__(self, follower: Follower, content: AsyncIterator[bytes]) -> None:
        super().__init__(content, headers={"X-Accel-Buffering": "no"})
        self.headers["content-type"] = "text/event-stream"
        self._follower = follower

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._follower:
            await super().__call__(scope, receive, send)


class _Events:
    """What one stream has to say."""

    def __init__(self, watches: list[str]) -> None:
        self.running = set(watches)  # of which more may come
        self._several = len(watches) > 1
        self._last: dict[str, int] = {}  # the number of the answer that was sent last

    async def earlier(self, call: Call, position: Position) -> list[bytes]:
        """The events since a position, behind an event `gap` if some may be lost."""
        self._last[position.watch] = position.number
        if call.replay is None:
            return self._gaps()
        tail = await call.replay.tail(frozenset(self.running))
        replies, is_all = missed(tail, position)
        return [*([] if is_all else self._gaps()), *self._events(replies)]

    async def lines(
        self, call: Call, follower: Follower, earlier: list[bytes]
    ) -> AsyncIterator[bytes]:
        yield b"".join([_HEAD, *earlier])
        while self.running and not follower.closed and not call.caller.has_expired:
            replies = await follower.take(HEARTBEAT_SECONDS)
            gaps = self._gaps() if follower.dropped else []
            follower.dropped = False
            yield b"".join([*gaps, *self._events(replies)]) or _BEAT

    def _gaps(self) -> list[bytes]:
        """Of each watch: that answers may be lost after the number that was sent last."""
        known = {watch: {"number": number} for watch, number in self._last.items()}
        return [
            _event("gap", {"watch": watch, **known.get(watch, {})})
            for watch in sorted(self.running)
        ]

    def _events(self, replies: Iterable[Message]) -> Iterable[bytes]:
        """Each answer once: it may come again, from the engine and from what was read again."""
        for reply in replies:
            watch, number = reply["request"], reply.get("number", 0)
            if watch not in self.running:
                continue
            if "ended" in reply:
                self.running.discard(watch)
                yield _event("end", told(reply))
            elif number > self._last.get(watch, 0):
                self._last[watch] = number
                yield _event("", told(reply), f"{watch}:{number}" if self._several else str(number))


def _event(name: str, data: object, event_id: str = "") -> bytes:
    """One event; an id with a line break would be two lines, so such a watch has none."""
    lines = [b"data: " + orjson.dumps(data)]
    if name:
        lines.insert(0, b"event: " + name.encode())
    if event_id and event_id.isprintable():
        lines.insert(0, b"id: " + event_id.encode())
    return b"\n".join(lines) + b"\n\n"


def _watches(call: Call) -> list[str]:
    if "watch" in call.path:
        return [call.path["watch"]]
    found = list(dict.fromkeys(call.http.query_params.getlist("watch")))
    if not 0 < len(found) <= MOST_WATCHES or "" in found:
        detail = f"watch: expected 1 to {MOST_WATCHES} of them: ?watch=a&watch=b"
        raise Problem(422, Code.BAD_REQUEST, detail, "watch")
    return found


def _position(call: Call, watches: list[str]) -> Position | None:
    said = text_header(call.http, "last-event-id")
    if not said:
        return None
    watch, _, number = said.rpartition(":") if len(watches) > 1 else (watches[0], "", said)
    if watch not in watches or not number.isdecimal():
        detail = f"Last-Event-ID: {said!r:.80}: expected the id of an event of this stream"
        raise Problem(422, Code.BAD_REQUEST, detail)
    return Position(watch, int(number))


async def _gone(call: Call, watches: list[str], position: Position | None) -> set[str]:
    """The watches that do not run; Problem for who cannot have seen them run."""
    gone = set()
    for watch in watches:
        row = await find_watch(call, watch)
        if row is not None:
            await check_uids(call, row["uids"])
        elif position is None or call.caller.datasets:
            raise _unknown(watch)
        else:
            gone.add(watch)
    return gone


def _unknown(watch: str) -> Problem:
    return Problem(404, Code.UNKNOWN_WATCH, f"watch={watch!r:.80}: expected one that runs", "watch")
