"""Requests on their way over HTTP: a few threads, and questions that wait go in one call."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

from clients.errors import TransportError, Unreachable
from clients.http.calling import Caller, CallFailed
from clients.http.paths import Call, call_of, call_of_questions, question_of
from clients.http.positions import Positions
from clients.http.replies import Later, outcomes_of
from clients.plugins import EXAMINATION_SECONDS
from clients.transport import Message, OnFailure, OnReply

_THREADS = 16
_MOST_QUESTIONS, _BYTES = 1_000, 1 << 20  # of one call
_MOST_WAITING = 100_000  # questions; whoever has more waits
_PAUSE = 0.25  # seconds until a connection is tried again
_GRACE = 1.0  # seconds beyond the client's patience, which tells the user first


@dataclass(frozen=True, slots=True)
class _Job:
    request: Message
    on_failure: OnFailure
    deadline: float
    call: Call | bytes  # a question, which goes in a list
    may_join: bool  # others in one call


class Asker:
    """Asks until an answer comes or `patience` is at its end: again when a gateway says "later".

    A request keeps its id, so it is carried out once, however often it is sent.
    """

    def __init__(
        self, caller: Caller, positions: Positions, on_reply: OnReply, patience: float
    ) -> None:
        self.trouble = ""  # why the last call failed; "" if it did not
        self._caller, self._positions, self._on_reply = caller, positions, on_reply
        self._patience = patience
        self._waiting: deque[_Job] = deque()
        self._alone = 0  # of those that wait
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._changed = threading.Condition()
        self._closing = threading.Event()

    def put(self, request: Message, on_failure: OnFailure) -> None:
        """Waits where more would go to the gateway than it can answer in time."""
        is_question = request["op"] == "estimate"
        call = question_of(request) if is_question else call_of(request)
        may_join = is_question and _is_quick(request)
        seconds = EXAMINATION_SECONDS if request["op"] == "plugin" else self._patience
        with self._changed:
            self._changed.wait_for(lambda: self._has_place(may_join) or self._closing.is_set())
            deadline = time.monotonic() + seconds + _GRACE
            self._waiting.append(_Job(request, on_failure, deadline, call, may_join))
            self._alone += not may_join
            if len(self._waiting) > self._idle and len(self._threads) < _THREADS:
                self._threads.append(threading.Thread(target=self._work, daemon=True))
                self._threads[-1].name = f"sde-asks-{len(self._threads)}"
                self._threads[-1].start()
            self._changed.notify_all()

    @property
    def is_busy(self) -> bool:
        return self._idle < len(self._threads)

    def close(self) -> None:
        """What waits, and calls that go on, end without a word: the client tells its users."""
        self._closing.set()
        self._caller.close()
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _has_place(self, may_join: bool) -> bool:
        if may_join:
            return len(self._waiting) < _MOST_WAITING
        return self._alone < _THREADS

    def _work(self) -> None:
        while jobs := self._next():
            while jobs and not self._closing.is_set():
                jobs, seconds = self._attempt(jobs)
                jobs = self._in_time(jobs, seconds)
                if jobs:
                    self._closing.wait(seconds)

    def _next(self) -> list[_Job]:
        """The one that waited longest, with others that go in its call; none at the end."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._waiting or self._closing.is_set())
            self._idle -= 1
            if self._closing.is_set():
                return []
            jobs = [self._waiting.popleft()]
            if jobs[0].may_join:
                jobs += self._others()
            else:
                self._alone -= 1
            self._changed.notify_all()
        return jobs

    def _others(self) -> list[_Job]:
        """Questions that wait behind the first one, until there is something else."""
        found: list[_Job] = []
        size = 0
        while self._waiting and self._waiting[0].may_join and len(found) + 1 < _MOST_QUESTIONS:
            size += len(self._waiting[0].call)
            if size > _BYTES:
                break
            found.append(self._waiting.popleft())
        return found

    def _attempt(self, jobs: list[_Job]) -> tuple[list[_Job], float]:
        """Those that have no answer yet, and how many seconds later they are to be asked again."""
        known = self._positions.known
        call = _call_of(jobs)
        call = call._replace(headers={**call.headers, **self._positions.headers(known)})
        seconds = min(job.deadline for job in jobs) - time.monotonic()
        try:
            response = self._caller.call(call, seconds)
            self._positions.note(response.headers, known)
            requests = [job.request for job in jobs]
            outcomes = outcomes_of(requests, response, self._caller.address)
        except CallFailed as failed:
            self.trouble = str(failed)
            if not failed.is_final:
                return jobs, _PAUSE
            return self._fail(jobs, Unreachable(self.trouble))
        except TransportError as error:
            return self._fail(jobs, error)
        return self._deliver(jobs, outcomes)

    def _deliver(
        self, jobs: list[_Job], outcomes: list[Message | Later]
    ) -> tuple[list[_Job], float]:
        again, seconds, self.trouble = [], 0.0, ""
        for job, outcome in zip(jobs, outcomes, strict=True):
            if isinstance(outcome, Later):
                again.append(job)
                seconds, self.trouble = max(seconds, outcome.seconds), outcome.trouble
            else:
                self._on_reply(outcome)
        return again, seconds

    def _fail(self, jobs: list[_Job], error: TransportError) -> tuple[list[_Job], float]:
        for job in jobs if not self._closing.is_set() else ():
            job.on_failure(error)
        return [], 0.0

    def _in_time(self, jobs: list[_Job], seconds: float) -> list[_Job]:
        """Those that can be asked again; the others fail."""
        next_time = time.monotonic() + seconds
        late = [job for job in jobs if job.deadline <= next_time]
        self._fail(late, Unreachable(self.trouble))
        return [job for job in jobs if job.deadline > next_time]


def _call_of(jobs: list[_Job]) -> Call:
    first = jobs[0].call
    if isinstance(first, Call):
        return first
    return call_of_questions(job.call for job in jobs if isinstance(job.call, bytes))


def _is_quick(estimate: Message) -> bool:
    """Whether its answer is small, and waits for no other site."""
    return estimate.get("stream") != "*" and "sites" not in estimate
