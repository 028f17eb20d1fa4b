"""Bodies of requests: bounded in size and in time, whole or part by part."""

from __future__ import annotations

import asyncio
import contextlib
import io
import time
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request

from sde.wire import Code
from service.gateway.problems import TOO_SLOW, WRONG_TYPE, Problem
from service.http_settings import HttpSettings

_DRAINED_BYTES, _DRAINED_SECONDS = 8 << 20, 1.0


class Body:
    """The body of one request, of at most `most` bytes; Problem if it is larger, or too slow."""

    def __init__(self, request: Request, http: HttpSettings, most: int) -> None:
        self._receive = request.receive
        self._idle, self._longest = http.idle_seconds, http.body_seconds
        self._most, self._size, self._ended = most, 0, False
        self._end = time.monotonic() + http.body_seconds
        encoding = request.headers.get("content-encoding", "identity")
        if encoding != "identity":
            detail = f"content-encoding={encoding!r:.80}: expected a body that is not compressed"
            raise Problem(415, WRONG_TYPE, detail)
        length = request.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > most:
            raise self._too_large(int(length))

    async def part(self) -> bytes:
        """The next part, b"" at the end; ClientDisconnect if the sender is gone."""
        while not self._ended:
            seconds = min(self._idle, self._end - time.monotonic())
            try:
                async with asyncio.timeout(seconds):
                    message = await self._receive()
            except TimeoutError:
                detail = f"the body: it stopped coming, or took more than {self._longest:g} s"
                raise Problem(408, TOO_SLOW, detail) from None
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            self._ended = not message.get("more_body", False)
            found: bytes = message.get("body", b"")
            self._size += len(found)
            if self._size > self._most:
                raise self._too_large(self._size)
            if found:
                return found
        return b""

    async def whole(self) -> bytes:
        parts = []
        while part := await self.part():
            parts.append(part)
        return b"".join(parts)

    def _too_large(self, size: int) -> Problem:
        detail = f"the body has {size:,} bytes or more: expected at most {self._most:,}"
        return Problem(413, Code.TOO_LARGE, detail)


async def drain(request: Request) -> None:
    """Read on for a moment: who is still sending could not read a reply otherwise."""
    size = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAINED_SECONDS):
            while size <= _DRAINED_BYTES:
                message = await request.receive()
                size += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def media_type(request: Request) -> str:
    """What the body is, without its parameters; "" if nothing is said."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_json(request: Request, http: HttpSettings, most: int | None = None) -> Any:
    """A body of JSON; an empty one is an object without fields."""
    body = await Body(request, http, most or http.body_bytes).whole()
    if not body:
        return {}
    found = media_type(request)
    if found != "application/json":
        raise Problem(415, WRONG_TYPE, f"content-type={found!r}: expected application/json")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        try:
            body.decode()
        except UnicodeDecodeError:
            raise Problem(400, Code.BAD_ENCODING, "the body: expected UTF-8") from None
        raise Problem(400, Code.BAD_JSON, f"the body: expected JSON: {error}") from None


class BodyFile(io.RawIOBase):
    """A body as a file, for a thread that reads it: each read waits for a part in `loop`."""

    def __init__(self, body: Body, loop: asyncio.AbstractEventLoop) -> None:
        self._body, self._loop = body, loop
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            part = asyncio.run_coroutine_threadsafe(self._body.part(), self._loop).result()
            self._rest = memoryview(part)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
