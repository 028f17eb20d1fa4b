"""Questions come by one pipe and replies go by another; what has to wait is tried again."""

from __future__ import annotations

import logging
import os
import select
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from sde.records.outgoing import json_bytes
from sde.shard.reader import NotAtRest
from sde.storage.arena_view import Unreadable
from sde.wire import Refusal, ReplyFields
from service.gateway.lane_frames import (
    SIZE_BYTES,
    LaneAnswer,
    LaneQuestion,
    frame,
    questions_of,
    size_of,
)

_SHORTEST_LOOK, _LONGEST_LOOK = 0.001, 0.004  # seconds between two turns, if some wait
_TURN_SECONDS = 0.01  # then others are looked at, and what is answered goes out
_LARGEST_REPLY = 16 << 20  # bytes: the engine refuses it with the reason
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Waiting:
    question: LaneQuestion
    until: float


Answering = Callable[[LaneQuestion], ReplyFields]


class Turns(Protocol):
    def turn(self) -> AbstractContextManager[Answering]:
        """What answers questions until it ends.

        Both raise Unreadable if the engine has to be asked, NotAtRest if this may work later.
        """


class LaneServer:
    """Answers in the order of asking, and what has to wait as soon as it can."""

    def __init__(self, lane: Turns, source: int, sink: int) -> None:
        self._lane, self._source, self._sink = lane, source, sink
        self._waiting: deque[_Waiting] = deque()
        self._unread = bytearray()
        self._pause = _SHORTEST_LOOK

    def run(self) -> None:
        os.write(self._sink, bytes(SIZE_BYTES))  # ready
        while self._receive():
            self._send(self._turn())

    def _receive(self) -> bool:
        """Take what was asked meanwhile; False when nothing will be asked any more."""
        if self._waiting:
            time.sleep(self._pause)  # so that a batch gets the locks that it waits for
        patience = 0 if self._waiting else None
        if not select.select([self._source], [], [], patience)[0]:
            return True
        received = os.read(self._source, 1 << 20)
        self._unread += received
        while len(self._unread) >= SIZE_BYTES:
            end = SIZE_BYTES + size_of(self._unread[:SIZE_BYTES])
            if len(self._unread) < end:
                break
            now = time.monotonic()
            for question in questions_of(self._unread[SIZE_BYTES:end]):
                self._waiting.append(_Waiting(question, now + question.seconds))
            del self._unread[:end]
        return bool(received)

    def _turn(self) -> list[LaneAnswer]:
        """Try each that waits once, for as long as a turn is."""
        answers: list[LaneAnswer] = []
        end = time.monotonic() + _TURN_SECONDS
        try:
            with self._lane.turn() as answering:
                for _ in range(len(self._waiting)):
                    waiting = self._waiting.popleft()
                    reply = self._try(answering, waiting)
                    if reply is None:
                        self._waiting.append(waiting)
                    else:
                        answers.append(LaneAnswer(waiting.question.number, reply))
                    if time.monotonic() >= end:
                        break
        except Unreadable:
            answers = [LaneAnswer(waiting.question.number, b"") for waiting in self._waiting]
            self._waiting.clear()
        longer = min(2 * self._pause, _LONGEST_LOOK)
        self._pause = _SHORTEST_LOOK if answers else max(longer, _SHORTEST_LOOK)
        return answers

    def _try(self, answering: Answering, waiting: _Waiting) -> bytes | None:
        """The reply; nothing if the engine has to be asked, None if it may come later."""
        try:
            reply = json_bytes(answering(waiting.question))
            return reply if len(reply) <= _LARGEST_REPLY else b""
        except NotAtRest:
            return None if time.monotonic() < waiting.until else b""
        except (Unreadable, Refusal):
            return b""
        except Exception:
            _log.exception("a question failed; it goes to the engine")
            return b""

    def _send(self, answers: list[LaneAnswer]) -> None:
        data = memoryview(frame(answers)) if answers else memoryview(b"")
        while data:
            data = data[os.write(self._sink, data) :]
