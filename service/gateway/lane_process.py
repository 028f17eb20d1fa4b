"""The read lane beside the gateway: a process, because it needs what the gateway must not import.

questions of one turn of the event loop ──pipe──> service.lane ──pipe──> their replies
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import orjson

from clients.transport import Message
from service.gateway.lane_frames import SIZE_BYTES, LaneQuestion, answers_of, frame, size_of
from service.gateway.position import NOWHERE, Position

_ANSWERED = frozenset({"estimate", "describe", "list", "streams", "export"})  # ops
_COMMAND = (sys.executable, "-P", "-m", "service.lane")
_SECONDS_BETWEEN_STARTS = 10.0  # of one that ends by itself
_MARGIN = 1.0  # seconds that it may be late before it is passed by
_MOST_WAITING = 10_000  # questions; others go to the engine
_log = logging.getLogger(__name__)


class Lane(Protocol):
    async def reply(self, message: Message, seconds: float, at_least: Position) -> Message | None:
        """The reply to a request; None if the engine itself has to be asked."""

    async def close(self) -> None:
        """In the same event loop; nothing is asked any more."""


class LaneProcess:
    """`folder` is the data folder of the engine. It starts with the first question and runs until
    `close`; all but the constructor is for one event loop."""

    def __init__(self, folder: Path, command: Sequence[str] = _COMMAND) -> None:
        self._command = (*command, str(folder.absolute()))
        self._writer: asyncio.StreamWriter | None = None  # while it is there
        self._next_start = 0.0
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._unsent: list[LaneQuestion] = []
        self._running: asyncio.Task[None] | None = None

    async def reply(self, message: Message, seconds: float, at_least: Position) -> Message | None:
        if message["op"] not in _ANSWERED or message.get("sites") is not None:
            return None
        if len(self._waiting) >= _MOST_WAITING or not self._runs():
            return None
        reply = await self._ask(message, seconds, at_least)
        return orjson.loads(reply) if reply else None

    async def _ask(self, message: Message, seconds: float, at_least: Position) -> bytes:
        loop = asyncio.get_running_loop()
        number = next(self._numbers)
        future: asyncio.Future[bytes] = loop.create_future()
        self._waiting[number] = future
        if not self._unsent:
            loop.call_soon(self._send)
        self._unsent.append(_question(number, seconds, message, at_least))
        late = loop.call_later(seconds + _MARGIN, _give_up, future)
        try:
            return await future
        finally:
            late.cancel()
            self._waiting.pop(number, None)

    def _send(self) -> None:
        """All that was asked in this turn of the loop, as one frame."""
        questions, self._unsent = self._unsent, []
        if self._writer is not None:
            self._writer.write(frame(questions))

    def _runs(self) -> bool:
        if self._writer is not None:
            return True
        loop = asyncio.get_running_loop()
        if self._running is None and loop.time() >= self._next_start:
            self._next_start = loop.time() + _SECONDS_BETWEEN_STARTS
            self._running = loop.create_task(self._run())
        return False

    async def _run(self) -> None:
        """Start it, and hand over its answers until it ends."""
        ours, theirs = socket.socketpair()
        with theirs:
            start = partial(subprocess.Popen, self._command, stdin=theirs, stdout=theirs)
            process = await asyncio.to_thread(start)
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        try:
            await reader.readexactly(SIZE_BYTES)  # it is ready
            self._writer = writer
            while True:
                size = size_of(await reader.readexactly(SIZE_BYTES))
                for answer in answers_of(await reader.readexactly(size)):
                    future = self._waiting.get(answer.number)
                    if future is not None and not future.done():
                        future.set_result(answer.reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            _log.warning("the read lane ended; questions go to the engine")
        finally:
            self._writer = None
            for future in self._waiting.values():
                _give_up(future)
            writer.close()
            process.kill()
            process.wait()
            self._running = None

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._running


def _give_up(future: asyncio.Future[bytes]) -> None:
    if not future.done():
        future.set_result(b"")


def _question(number: int, seconds: float, message: Message, at_least: Position) -> LaneQuestion:
    if at_least is NOWHERE:
        return LaneQuestion(number, seconds, message)
    offsets: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in at_least.offsets.items():
        offsets.setdefault(topic, {})[partition] = offset
    return LaneQuestion(number, seconds, message, at_least.batch, offsets)
