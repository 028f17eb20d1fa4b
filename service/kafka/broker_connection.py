"""One connection to a broker that leads a partition, and the one request made on it: Fetch.

Version 4 of the request, the oldest that brokers still know and the first that says which
transactions were aborted. Only for brokers without TLS and SASL.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.kafka.record_batches import SLACK

_FETCH, _VERSION, _CLIENT = 1, 4, b"sde"
_NO_REPLICA, _COMMITTED = -1, 1
_WAIT_MS, _MIN_BYTES = 10, 1
_MAX_BYTES = 4 << 20  # of a response; a larger batch comes alone
_LARGEST = 128 << 20  # of a response that is believed
_SECONDS = 10.0  # to wait for an answer
_SIZE = struct.Struct(">i")


class UnusualAnswer(Exception):
    """An answer that only librdkafka can deal with; the message says why."""


@dataclass(frozen=True, slots=True)
class Response:
    """Record batches in source[start:end]; a row (first offset, producer) in `aborted` for each
    aborted transaction."""

    aborted: NDArray[np.int64]
    source: NDArray[np.uint8]
    start: int
    end: int


class BrokerConnection:
    """A request may be sent before earlier ones are answered; answers come in their order."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), _SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.waiting = 0  # answers that are yet to come
        self._number = 0

    def ask(self, topic: str, partition: int, offset: int) -> None:
        """Send a request for the batches from an offset on."""
        name = topic.encode()
        body = b"".join(
            (
                struct.pack(">hhih", _FETCH, _VERSION, self._number, len(_CLIENT)),
                _CLIENT,
                struct.pack(">iiiib", _NO_REPLICA, _WAIT_MS, _MIN_BYTES, _MAX_BYTES, _COMMITTED),
                struct.pack(">ih", 1, len(name)),
                name,
                struct.pack(">iiqi", 1, partition, offset, _MAX_BYTES),
            )
        )
        self._socket.sendall(_SIZE.pack(len(body)) + body)
        self._number += 1
        self.waiting += 1

    def answer(self) -> Response:
        """The next answer; raises UnusualAnswer, or OSError when the broker is away."""
        (size,) = _SIZE.unpack(self._receive(_SIZE.size).data[: _SIZE.size])
        if not 0 <= size <= _LARGEST:
            raise UnusualAnswer(f"an answer of {size} bytes")
        source = self._receive(size)
        self.waiting -= 1
        try:
            return _read(source, size)
        except struct.error as error:
            raise UnusualAnswer(f"an answer that cannot be read: {error}") from None

    def _receive(self, size: int) -> NDArray[np.uint8]:
        received = np.empty(size + SLACK, np.uint8)
        view, at = received.data, 0
        while at < size:
            count = self._socket.recv_into(view[at:size])
            if not count:
                raise ConnectionError("the broker closed the connection")
            at += count
        return received

    def close(self) -> None:
        self._socket.close()


def _read(source: NDArray[np.uint8], size: int) -> Response:
    data = source.data[:size]
    at = struct.calcsize(">iii")  # number, throttle time, count of topics: one was asked for
    (name,) = struct.unpack_from(">h", data, at)
    at += struct.calcsize(">h") + name
    _, _, error, _, _, count = struct.unpack_from(">iihqqi", data, at)
    if error:
        raise UnusualAnswer(f"the broker answers with error {error}")
    at += struct.calcsize(">iihqqi")
    aborted = np.frombuffer(data, ">i8", 2 * max(count, 0), at).astype(np.int64).reshape(-1, 2)
    at += aborted.nbytes
    (length,) = _SIZE.unpack_from(data, at)
    start = at + _SIZE.size
    by_offset = aborted[:, ::-1][np.argsort(aborted[:, 1], kind="stable")]
    end = min(start + max(length, 0), size)
    return Response(np.ascontiguousarray(by_offset), source, start, end)
