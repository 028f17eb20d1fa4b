"""Tuples on their way over HTTP: body after body, in the order in which they were sent."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import NamedTuple
from urllib.parse import quote

import orjson

from clients.arrow import arrow
from clients.errors import DeliveryFailed
from clients.http.calling import Caller, CallFailed, Response
from clients.http.paths import Call
from clients.http.positions import Positions
from clients.http.replies import object_of, pause_of, told_of
from clients.tables import FRAME_START

_LINES, _ARROW = "application/x-ndjson", "application/vnd.apache.arrow.stream"
_BYTES_A_BODY = 4 << 20
_MOST_BYTES = 32 << 20  # that wait; beyond it, sending waits for the gateway
_SECONDS = 30.0  # within which a body must be delivered, as a message to Kafka must
_PAUSE = 0.25
_LATER = frozenset({429, 502, 503})


class Body(NamedTuple):
    """Tuples of one data set."""

    dataset: str
    form: str
    payload: bytes

    def call(self) -> Call:
        path = f"/v1/datasets/{quote(self.dataset, safe='')}/tuples"
        return Call("POST", path, self.payload, {"Content-Type": self.form})

    def without(self, sent: int) -> Body | None:
        """What is left to send, when so many of its tuples were; None if that cannot be told."""
        if not sent:
            return self
        parts = self.payload.split(b"\n", sent) if self.form == _LINES else []
        return self._replace(payload=parts[sent]) if len(parts) > sent else None


def body_of(message: bytes) -> Body:
    """A message of the data topic as a body: its data set goes into the path."""
    if message.startswith(FRAME_START):
        dataset = arrow().ipc.open_stream(message).schema.metadata[b"dataset"].decode()
        return Body(dataset, _ARROW, message)
    return Body(orjson.loads(message.partition(b"\n")[0])["dataset"], _LINES, message)


class Uploads:
    """Sends in a thread. A tuple that is sent twice counts twice, so what may have arrived is
    never sent again: it is told as not delivered."""

    def __init__(self, caller: Caller, positions: Positions) -> None:
        self._caller, self._positions = caller, positions
        self._waiting: deque[Body] = deque()
        self._bytes = 0  # that wait, or are on their way
        self._failures: list[str] = []
        self._thread: threading.Thread | None = None
        self._closing = False
        self._changed = threading.Condition()

    def put(self, message: bytes) -> None:
        """Returns at once, unless too much waits; DeliveryFailed if something sent before was not
        delivered."""
        body = body_of(message)
        with self._changed:
            self._raise_failures()
            self._changed.wait_for(lambda: self._bytes < _MOST_BYTES)
            self._waiting.append(body)
            self._bytes += len(message)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="sde-sends", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self) -> None:
        """Return when nothing is on its way; DeliveryFailed if some was not delivered."""
        with self._changed:
            self._changed.wait_for(lambda: not self._bytes)
            self._raise_failures()

    def close(self) -> None:
        """After `flush`."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _raise_failures(self) -> None:
        if self._failures:
            first, count = self._failures[0], len(self._failures)
            self._failures = []
            more = f" (and {count - 1} more bodies were not)" if count > 1 else ""
            raise DeliveryFailed(f"tuples were not delivered: {first}{more}")

    def _work(self) -> None:
        while (found := self._next()) is not None:
            body, size = found
            failure = self._deliver(body)
            with self._changed:
                if failure:
                    self._failures.append(failure)
                self._bytes -= size
                self._changed.notify_all()

    def _next(self) -> tuple[Body, int] | None:
        """The next body, with all that waits and can be part of it, and its bytes as they came."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            if not self._waiting:
                return None
            first = self._waiting.popleft()
            parts, size = [first.payload], len(first.payload)
            while self._waiting and first.form == _LINES and self._waiting[0][:2] == first[:2]:
                if size + len(self._waiting[0].payload) > _BYTES_A_BODY:
                    break
                parts.append(self._waiting.popleft().payload)
                size += len(parts[-1])
        return first._replace(payload=b"\n".join(parts)), size

    def _deliver(self, body: Body) -> str:
        """Why it was not delivered; "" if it was."""
        deadline = time.monotonic() + _SECONDS
        while True:
            known = self._positions.known
            call = body.call()
            call = call._replace(headers={**call.headers, **self._positions.headers(known)})
            pause = _PAUSE
            try:
                response = self._caller.call(call, _SECONDS, repeatable=False)
            except CallFailed as failed:
                reason, is_over = str(failed), failed.was_sent or failed.is_final
                if failed.was_sent:
                    reason += "; they may have arrived, or some of them"
            else:
                if response.status == 200:
                    self._positions.note(response.headers, known)
                    return ""
                sent = _sent(response)
                reason, pause = _reason(response), pause_of(response)
                rest = None if sent is None else body.without(sent)
                is_over = response.status not in _LATER or rest is None
                if is_over and sent:
                    reason += f"; {sent:,} tuples of its body were sent before"
                body = rest or body
            if is_over or time.monotonic() + pause > deadline:
                return reason
            time.sleep(pause)


def _sent(response: Response) -> int | None:
    """How many tuples of a body went on before it was refused; None if nobody can tell."""
    members = object_of(response.body)
    if not isinstance(members, dict):
        return None
    sent = members.get("sent", 0)
    return sent if isinstance(sent, int) and sent >= 0 else None


def _reason(response: Response) -> str:
    return told_of(object_of(response.body), f"status {response.status} {response.reason}")
