"""The transport over HTTP."""

from __future__ import annotations

import os

from clients.errors import Unreachable
from clients.http.address import HttpAddress
from clients.http.asking import Asker
from clients.http.calling import SECONDS_TO_CONNECT, Caller, CallFailed
from clients.http.events import EventStream
from clients.http.positions import Positions
from clients.http.uploads import Uploads
from clients.transport import Message, OnFailure, OnReply


class HttpTransport:
    """Requests, tuples and answers through the gateway at a URL.

    `token` is what `sde gateway token` printed. Certificates are checked: `ca_file` names the file
    of their authority where it is not one that the system trusts. A request is given up after
    `patience` seconds.
    """

    lanes = 1  # bodies follow each other: the gateway divides their tuples

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        patience: float = SECONDS_TO_CONNECT,
    ) -> None:
        self._address = HttpAddress(url, token, ca_file)
        self._caller = Caller(self._address)
        self._positions = Positions()
        self._patience = patience
        self._on_reply: OnReply = lambda reply: None
        self._asker = Asker(self._caller, self._positions, self._hear, patience)
        self._uploads = Uploads(self._caller, self._positions)
        self._reached = False
        self._events: dict[str, EventStream | None] = {}  # None: its watch is not begun yet

    def __repr__(self) -> str:
        return f"HttpTransport({self._address!r})"

    def listen(self, on_reply: OnReply) -> None:
        self._on_reply = on_reply
        self._reach()

    def send_request(self, request: Message, on_failure: OnFailure) -> None:
        self._asker.put(request, on_failure)

    def follow(self, watch_id: str, *, runs: bool) -> None:
        self._events[watch_id] = None
        if runs:
            self._begin(watch_id, "").begun.wait(self._patience)

    def leave(self, watch_id: str) -> None:
        stream = self._events.pop(watch_id, None)
        if stream is not None:
            stream.leave()

    def send_data(self, payload: bytes, *, lane: int) -> None:
        self._reach()
        self._uploads.put(payload)

    def flush(self) -> None:
        self._uploads.flush()

    def trouble(self) -> str:
        streams = [stream.trouble for stream in list(self._events.values()) if stream is not None]
        silence = f"the gateway at {self._address} is silent" if self._asker.is_busy else ""
        return next(filter(None, [self._asker.trouble, *streams]), silence)

    def close(self) -> None:
        try:
            self.flush()
        finally:
            streams = [stream for stream in self._events.values() if stream is not None]
            for stream in streams:
                stream.leave()
            self._asker.close()
            self._uploads.close()
            for stream in streams:
                stream.join()

    def _reach(self) -> None:
        """Unreachable if nobody is there at first; later the gateway may be away for a while."""
        if self._reached:
            return
        try:
            self._caller.give_back(self._caller.connect(self._patience))
        except CallFailed as failed:
            raise Unreachable(str(failed)) from failed
        self._reached = True

    def _hear(self, reply: Message) -> None:
        """A watch that is begun is followed from its first answer on, before its user knows."""
        watch = reply["request"]
        if reply["op"] == "watch" and reply.get("status") == "ok" and watch in self._events:
            self._begin(watch, "0")
        self._on_reply(reply)

    def _begin(self, watch_id: str, last: str) -> EventStream:
        stream = EventStream(watch_id, self._caller, self._on_reply, last)
        self._events[watch_id] = stream
        return stream
