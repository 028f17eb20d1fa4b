"""The server: uvicorn with our time-outs, TLS, and an end that leaves nobody hanging."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from functools import partial
from typing import Any

import h11
import orjson
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sde.wire import Code
from service.gateway.app import Gateway
from service.gateway.beside import Beside
from service.gateway.engine import EngineDoor
from service.gateway.guard import HEADERS
from service.gateway.problems import MEDIA_TYPE, Problem
from service.gateway.replay import Replay
from service.http_settings import HttpSettings

_KEEP_ALIVE_SECONDS = 30
_SECONDS_TO_FINISH = 5  # for requests in flight when the server ends
_LARGEST_HEADERS = 32 << 10
_BACKLOG = 2048


class GatewayServer(uvicorn.Server):
    """Serves between `run` and `should_exit = True`, in the main thread or another."""

    def __init__(
        self,
        settings: HttpSettings,
        door: EngineDoor,
        replay: Replay | None = None,
        beside: Beside | None = None,
    ) -> None:
        self._door = door
        config = uvicorn.Config(
            Gateway(settings, door, replay, beside),
            http=partial(_Protocol, settings),  # type: ignore[arg-type]
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="error",  # everybody can send what is no HTTP
            access_log=False,  # paths may hold what a user should not have put there
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_SECONDS_TO_FINISH,
            h11_max_incomplete_event_size=_LARGEST_HEADERS,
            ssl_certfile=settings.certificate,
            ssl_keyfile=settings.private_key,
        )
        super().__init__(config)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._door.hub.close()
        await super().shutdown(sockets)
        await self._door.close_lane()


class _Protocol(H11Protocol):
    """One connection: closed if headers do not come in time, or a response is not read."""

    def __init__(self, settings: HttpSettings, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._seconds, self._idle_seconds = settings.header_seconds, settings.idle_seconds
        self._most = 2 * (settings.event_streams + settings.requests_in_flight)
        self._timer: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._most:
            transport.abort()
        self._expect_headers(self._seconds)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._cancel()

    def on_response_complete(self) -> None:
        self._expect_headers(_KEEP_ALIVE_SECONDS + self._seconds)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Somebody does not read what was asked for."""
        super().pause_writing()
        self._stuck = self.loop.call_later(self._idle_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        if self._stuck is not None:
            self._stuck.cancel()
        super().connection_lost(exc)

    def _expect_headers(self, seconds: float) -> None:
        self._cancel()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def send_400_response(self, msg: str) -> None:
        """For what is no HTTP."""
        body = orjson.dumps(Problem(400, Code.BAD_REQUEST, msg).members)
        head = [(b"content-type", MEDIA_TYPE.encode()), (b"connection", b"close"), *HEADERS]
        response = h11.Response(status_code=400, headers=head)
        with contextlib.suppress(h11.LocalProtocolError):  # a response is on its way already
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def bind(settings: HttpSettings) -> socket.socket:
    """The socket that the settings name; OSError if it is not to be had."""
    host, port = settings.address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    # Its connections have it, too: else a body waits 40 ms for word that the headers came.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
