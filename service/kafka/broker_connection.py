"""One connection to a broker that leads a partition, and the one request made on it: Fetch.

Version 4 of the request, the oldest that brokers still know and the first that says which
transactions were aborted.
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

import numpy as np
from confluent_kafka import KafkaError, KafkaException
from numpy.typing import NDArray

from service.kafka.broker_socket import BrokerSocket, UnusualAnswer
from service.kafka.record_batches import SLACK
from service.kafka.sasl import log_in
from service.kafka.security import Security

_FETCH, _VERSION = 1, 4
_NO_REPLICA, _COMMITTED = -1, 1
_WAIT_MS, _MIN_BYTES = 10, 1
_MAX_BYTES = 4 << 20  # of a response; a larger batch comes alone
_LARGEST = 128 << 20  # of a response that is believed
_SHARE = 0.8  # of the time for which a broker lets us in: then comes a new connection
_SIZE = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class Response:
    """Record batches in source[start:end]; a row (first offset, producer) in `aborted` for each
    aborted transaction. A throttled client may get nothing, and later more."""

    aborted: NDArray[np.int64]
    source: NDArray[np.uint8]
    start: int
    end: int
    throttled: bool = False


class BrokerConnection:
    """A request may be sent before earlier ones are answered; answers come in their order."""

    def __init__(self, host: str, port: int, security: Security) -> None:
        self._socket = BrokerSocket(host, port, security.tls)
        self.waiting = 0  # answers that are yet to come
        self._until = float("inf")
        if security.login is not None:
            try:
                seconds = log_in(self._socket, security.login)
            except BaseException:
                self._socket.close()
                raise
            self._until = time.monotonic() + _SHARE * seconds

    @property
    def is_usable(self) -> bool:
        """Whether a request may be sent: not when the broker has closed it, as it does when nothing
        comes for long, nor when the time for which it let us in is nearly over. To be asked when no
        answer is waited for."""
        return time.monotonic() < self._until and not self._socket.has_ended

    def ask(self, topic: str, partition: int, offset: int) -> None:
        """Send a request for the batches from an offset on."""
        name = topic.encode()
        body = b"".join(
            (
                struct.pack(">iiiib", _NO_REPLICA, _WAIT_MS, _MIN_BYTES, _MAX_BYTES, _COMMITTED),
                struct.pack(">ih", 1, len(name)),
                name,
                struct.pack(">iiqi", 1, partition, offset, _MAX_BYTES),
            )
        )
        self._socket.send(_FETCH, _VERSION, body)
        self.waiting += 1

    def answer(self) -> Response:
        """The next answer; raises KafkaException if the broker says that something is wrong,
        UnusualAnswer, or OSError when it is away."""
        source, size = self._socket.receive(_LARGEST, SLACK)
        self.waiting -= 1
        try:
            return _read(source, size)
        except (struct.error, ValueError) as error:
            raise UnusualAnswer(f"an answer that cannot be read: {error}") from None

    def close(self) -> None:
        self._socket.close()


def _read(source: NDArray[np.uint8], size: int) -> Response:
    data = source.data[:size]
    _, throttle_ms, _ = struct.unpack_from(">iii", data)  # one topic was asked for
    at = struct.calcsize(">iii")
    (name,) = struct.unpack_from(">h", data, at)
    at += struct.calcsize(">h") + max(name, 0)
    _, _, error, _, _, count = struct.unpack_from(">iihqqi", data, at)
    if error:
        raise KafkaException(KafkaError(error))
    at += struct.calcsize(">iihqqi")
    aborted = np.frombuffer(data, ">i8", 2 * max(count, 0), at).astype(np.int64).reshape(-1, 2)
    at += aborted.nbytes
    (length,) = _SIZE.unpack_from(data, at)
    start = at + _SIZE.size
    by_offset = aborted[:, ::-1][np.argsort(aborted[:, 1], kind="stable")]
    end = min(start + max(length, 0), size)
    return Response(np.ascontiguousarray(by_offset), source, start, end, throttle_ms > 0)
