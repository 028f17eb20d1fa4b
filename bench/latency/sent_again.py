"""Messages sent again and again, at next to no cost: as the record batches a broker keeps of them.

A client that sends a million small messages a second takes a core of a machine that has two, which
the engine and the broker measured would lack. So messages are sent once in the usual way, to a
topic of their own; their batches are fetched as bytes, and Produce requests (version 3) carry them
from then on.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from confluent_kafka import Producer

from service.kafka.broker_connection import BrokerConnection
from service.kafka.security import Security

_HEADER = struct.Struct(">qiibIhiqqqhii")  # of a batch: its length second, its records last
_AT_ZERO = bytes(8)  # the first offset of a batch that is sent
_LENGTH_FROM = 12  # bytes of the header that the length does not count
_SIZE = struct.Struct(">i")
_TOLD = struct.Struct(">ihqq")  # of a partition: its number, an error, offset and time
_PRODUCE, _VERSION, _CLIENT = 0, 3, b"bench"
_LEADER_ONLY, _PATIENCE_MS = 1, 30_000


@dataclass(frozen=True, slots=True)
class RecordBatch:
    data: bytes
    messages: int


def record_batches(servers: str, topic: str, partition: int, messages: int) -> list[RecordBatch]:
    """The batches of a partition that holds so many messages."""
    connection = BrokerConnection(*_address(servers), Security())
    try:
        found: list[RecordBatch] = []
        while (offset := sum(batch.messages for batch in found)) < messages:
            connection.ask(topic, partition, offset)
            response = connection.answer()
            more = _whole(response.source[response.start : response.end].tobytes())
            if not more:
                raise ConnectionError(f"nothing came from offset {offset} of {topic} on")
            found += more
        return found
    finally:
        connection.close()


def _whole(data: bytes) -> list[RecordBatch]:
    """The batches in a response; the last one may be cut."""
    found, at = [], 0
    while at + _HEADER.size <= len(data):
        header = _HEADER.unpack_from(data, at)
        end = at + _LENGTH_FROM + header[1]
        if end > len(data):
            break
        found.append(RecordBatch(_AT_ZERO + data[at + len(_AT_ZERO) : end], header[-1]))
        at = end
    return found


def send(servers: str, topic: str, messages: Sequence[Sequence[dict[str, bytes]]]) -> None:
    """The messages of each partition, in the usual way."""
    room = sum(map(len, messages)) + 1
    config = {"linger.ms": 20, "queue.buffering.max.messages": room}
    producer = Producer({"bootstrap.servers": servers, **config})
    taken = [
        producer.produce_batch(topic, own, partition=partition)
        for partition, own in enumerate(messages)
    ]
    if producer.flush(60) or taken != list(map(len, messages)):
        raise TimeoutError(f"the broker did not take the messages of {topic}")


class Repeater:
    def __init__(self, servers: str, topic: str) -> None:
        self._socket = socket.create_connection(_address(servers), 30)
        self._answers = self._socket.makefile("rb")
        self._topic = topic.encode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._answers.close()
        self._socket.close()

    def send(self, batches: Sequence[RecordBatch]) -> int:
        """One for each partition; how many messages that were. Returns when the broker has them."""
        parts = [
            struct.pack(">hhih", _PRODUCE, _VERSION, 0, len(_CLIENT)),
            _CLIENT,
            struct.pack(">hhii", -1, _LEADER_ONLY, _PATIENCE_MS, 1),
            struct.pack(">h", len(self._topic)),
            self._topic,
            _SIZE.pack(len(batches)),
        ]
        for partition, batch in enumerate(batches):
            parts += [struct.pack(">ii", partition, len(batch.data)), batch.data]
        self._socket.sendall(b"".join([_SIZE.pack(sum(map(len, parts))), *parts]))
        self._check(self._receive(_SIZE.unpack(self._receive(_SIZE.size))[0]), len(batches))
        return sum(batch.messages for batch in batches)

    def _check(self, answer: bytes, partitions: int) -> None:
        start = struct.calcsize(">iih") + len(self._topic) + _SIZE.size
        told = answer[start : start + partitions * _TOLD.size]
        for partition, error, *_ in _TOLD.iter_unpack(told):
            if error:
                raise ConnectionError(f"partition {partition}: the broker has error {error}")

    def _receive(self, size: int) -> bytes:
        received = self._answers.read(size)
        if len(received) < size:
            raise ConnectionError("the broker closed the connection")
        return received


def _address(servers: str) -> tuple[str, int]:
    host, _, port = servers.partition(":")
    return host, int(port)
