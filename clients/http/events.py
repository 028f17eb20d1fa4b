"""Answers of watches as server-sent events: a connection for each watch that somebody reads."""

from __future__ import annotations

import http.client
import logging
import threading
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

from clients.http.calling import Caller, CallFailed, Response, interrupt
from clients.http.paths import Call
from clients.http.replies import object_of, pause_of, told_of
from clients.transport import OnReply

_SILENCE = 45.0  # seconds: the gateway says each 15 that the stream lives
_PAUSE = 1.0
_LONGEST_LINE, _LARGEST_REFUSAL = 32 << 20, 1 << 20
_LATER = frozenset({408, 429, 500, 502, 503, 504})
_LOGGER = logging.getLogger("clients")


class Event(NamedTuple):
    name: str
    id: str
    data: str


def events_in(lines: Iterator[str]) -> Iterator[Event]:
    """The events of a stream of lines.

    >>> list(events_in(iter(["id: 7", "data: {}", "", ": still here", ""])))
    [Event(name='', id='7', data='{}')]
    >>> [event.data.splitlines() for event in events_in(iter(["data: 1", "data: 2", ""]))]
    [['1', '2']]
    """
    said: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name:
            value = value.removeprefix(" ")
            said[name] = f"{said['data']}\n{value}" if name == "data" and name in said else value
        elif not line:
            if "data" in said:
                yield Event(said.get("event", ""), said.get("id", ""), said["data"])
            said = {}


class EventStream:
    """Follows one watch in a thread, also through ends of its connection: it says which answer it
    had last, and goes on behind it. `last` is "" for answers from now on, "0" for all there were.
    """

    def __init__(self, watch: str, caller: Caller, on_reply: OnReply, last: str = "") -> None:
        self.trouble = ""
        self.begun = threading.Event()  # whether the gateway follows, or never will
        self._watch, self._caller, self._on_reply = watch, caller, on_reply
        self._last = last
        self._connection: http.client.HTTPConnection | None = None
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"sde-watch-{watch}", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Without a lock and without waiting: garbage collection may be what calls."""
        self._left.set()
        if self._connection is not None:
            interrupt(self._connection)

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        while not self._left.is_set():
            try:
                pause = self._follow()
            except CallFailed as failed:
                self.trouble, pause = str(failed), _PAUSE
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.trouble, pause = f"the events ended: {error}", _PAUSE
            if pause is None:
                break
            self._left.wait(pause)
        self.begun.set()

    def _follow(self) -> float | None:
        """Read until the stream ends; seconds until the next attempt, None after the last one."""
        connection = self._connection = self._caller.connect(_SILENCE)
        try:
            if self._left.is_set():
                return None
            connection.sock.settimeout(_SILENCE)
            headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
            if self._last:
                headers["Last-Event-ID"] = self._last
            path = f"/v1/watches/{quote(self._watch, safe='')}/events"
            response = self._caller.begin(connection, Call("GET", path, headers=headers))
            if response.status != 200:
                return self._refused(response)
            self.trouble = ""
            for event in events_in(self._lines(response)):
                if self._take(event):
                    return None
            return _PAUSE
        finally:
            self._caller.end(connection)

    def _lines(self, response: http.client.HTTPResponse) -> Iterator[str]:
        while not self._left.is_set():
            line = response.readline(_LONGEST_LINE)
            if not line.endswith(b"\n"):
                return
            self.begun.set()
            yield line.decode(errors="replace").rstrip("\r\n")

    def _take(self, event: Event) -> bool:
        """Hand on an answer; whether it was the last one."""
        reply = object_of(event.data.encode())
        if not isinstance(reply, dict):
            return False
        if event.name == "gap":
            after = reply.get("number", 0)
            if after:
                _LOGGER.warning("watch %s: answers after %s may be lost", self._watch, after)
            return False
        self._last = event.id or self._last
        self._on_reply({**reply, "op": "watch", "request": self._watch})
        return event.name == "end"

    def _refused(self, response: http.client.HTTPResponse) -> float | None:
        whole = Response(
            response.status, response.reason, response.headers, response.read(_LARGEST_REFUSAL)
        )
        reason = told_of(object_of(whole.body), f"status {whole.status} {whole.reason}")
        if response.status in _LATER:
            self.trouble = reason
            return pause_of(whole)
        self._on_reply({"request": self._watch, "op": "watch", "ended": reason})
        return None
