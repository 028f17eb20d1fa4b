"""Calls to a gateway over connections that are kept, and in words why one failed."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from contextlib import suppress
from email.message import Message
from typing import NamedTuple

from clients.http.address import HttpAddress
from clients.http.paths import Call

SECONDS_TO_CONNECT = 10.0
_SECONDS_IDLE = 5.0  # kept as long; the gateway, or a proxy before it, ends it some time later
_LARGEST_REPLY = 128 << 20
_GONE = (http.client.RemoteDisconnected, ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


class Response(NamedTuple):
    status: int
    reason: str
    headers: Message
    body: bytes


class CallFailed(Exception):
    """No response. `was_sent`: the gateway may have got it. `is_final`: so it will be again."""

    def __init__(self, words: str, *, was_sent: bool, is_final: bool = False) -> None:
        super().__init__(words)
        self.was_sent, self.is_final = was_sent, is_final


class Caller:
    """May be used by several threads; each call has a connection for itself meanwhile."""

    def __init__(self, address: HttpAddress) -> None:
        self.address = address
        self._idle: list[tuple[float, http.client.HTTPConnection]] = []
        self._busy: set[http.client.HTTPConnection] = set()
        self._closed = False
        self._lock = threading.Lock()

    def call(self, call: Call, seconds: float, *, repeatable: bool = True) -> Response:
        """The whole response; CallFailed if none comes within about so many seconds.

        A kept connection may be at its end without our knowing: what is `repeatable` goes again
        on a new one then.
        """
        connection = self._take()
        if connection is not None:
            try:
                return self._exchange(connection, call, seconds)
            except CallFailed as failed:
                if not (repeatable and isinstance(failed.__cause__, _GONE)):
                    raise
        return self._exchange(self.connect(seconds), call, seconds)

    def connect(self, seconds: float) -> http.client.HTTPConnection:
        """A new connection, which the caller gives back or ends."""
        connection = self.address.connection(min(seconds, SECONDS_TO_CONNECT))
        try:
            connection.connect()
        except OSError as error:
            raise self._failed(error, was_sent=False) from error
        with self._lock:
            if not self._closed:
                self._busy.add(connection)
                return connection
        connection.close()
        raise CallFailed("the client was closed", was_sent=False, is_final=True)

    def begin(self, connection: http.client.HTTPConnection, call: Call) -> http.client.HTTPResponse:
        """Send the call; its response, of which only the head was read."""
        headers = {**self.address.headers, **call.headers}
        connection.request(call.method, self.address.prefix + call.target, call.body, headers)
        return connection.getresponse()

    def end(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._busy.discard(connection)
        connection.close()

    def give_back(self, connection: http.client.HTTPConnection) -> None:
        """Keep it for the next call, if it is open still."""
        with self._lock:
            self._busy.discard(connection)
            if connection.sock is not None and not self._closed:
                self._idle.append((time.monotonic(), connection))
                return
        connection.close()

    def close(self) -> None:
        """Calls that go on fail."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for connection in self._busy:
                interrupt(connection)
        for _, connection in idle:
            connection.close()

    def _take(self) -> http.client.HTTPConnection | None:
        """The one that was used last; those that were idle too long are closed."""
        oldest = time.monotonic() - _SECONDS_IDLE
        with self._lock:
            old = [each for since, each in self._idle if since < oldest]
            self._idle = [each for each in self._idle if each[0] >= oldest]
            found = self._idle.pop()[1] if self._idle else None
            if found is not None:
                self._busy.add(found)
        for each in old:
            each.close()
        return found

    def _exchange(
        self, connection: http.client.HTTPConnection, call: Call, seconds: float
    ) -> Response:
        try:
            connection.sock.settimeout(max(seconds, 0.001))
            response = self.begin(connection, call)
            body = response.read(_LARGEST_REPLY + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.end(connection)
            raise self._failed(error, was_sent=True) from error
        if len(body) > _LARGEST_REPLY:
            self.end(connection)
            words = f"a reply of more than {_LARGEST_REPLY:,} bytes from {self.address}"
            raise CallFailed(words, was_sent=True, is_final=True)
        self.give_back(connection)
        return Response(response.status, response.reason, response.headers, body)

    def _failed(self, error: Exception, *, was_sent: bool) -> CallFailed:
        is_final = isinstance(error, ssl.SSLCertVerificationError)
        words = f"the gateway at {self.address} {_reason(error)}"
        return CallFailed(words, was_sent=was_sent, is_final=is_final)


def interrupt(connection: http.client.HTTPConnection) -> None:
    """Whoever reads from it in another thread stops waiting."""
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


def _reason(error: Exception) -> str:
    match error:
        case ConnectionRefusedError():
            return (
                "refuses the connection: nothing listens there. Start one with 'sde serve --http"
                " HOST:PORT' or 'sde gateway --http HOST:PORT', or name the right address"
            )
        case socket.gaierror():
            return f"cannot be found: {error.strerror}. Is its name spelt right?"
        case ssl.SSLCertVerificationError():
            return (
                f"has a certificate that is not trusted: {error.verify_message}. If its authority"
                " is your own, name its file: Client(..., ca_file='ca.pem')"
            )
        case ssl.SSLError():
            return f"does not speak TLS as it should: {error.reason}. Is it http:// in place of https://?"
        case TimeoutError():
            return "does not answer in time"
        case http.client.RemoteDisconnected() | http.client.BadStatusLine():
            return "ends the connection without a reply. Is it https:// in place of http://?"
        case _:
            return f"cannot be reached: {error}"
