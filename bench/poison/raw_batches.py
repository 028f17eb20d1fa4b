"""Record batches that no producer writes, sent to a broker as they are.

Their checksum is right: what else a broker refuses is its decision, and what it takes an engine
has to read.
"""

from __future__ import annotations

import socket
import struct
from random import Random

from bench.fuzzing.record_batches import RecordBatches

_PRODUCE, _VERSION, _CLIENT = 0, 7, b"poison"
_ACKS, _TIMEOUT_MS, _SECONDS = 1, 10_000, 30.0
_CRC_AT, _CHECKED_FROM = 17, 21  # where a batch has its checksum, and from where on it counts
_POLYNOMIAL = 0x82F63B78  # CRC-32C


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """
    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def with_checksum(batch: bytes) -> bytes:
    """A batch as long as it says, with its checksum."""
    length = struct.pack(">i", len(batch) - 12)
    crc = struct.pack(">I", crc32c(batch[_CHECKED_FROM:]))
    return batch[:8] + length + batch[12:_CRC_AT] + crc + batch[_CHECKED_FROM:]


class RawProducer:
    """Sends mutated batches to a partition of a topic; counts those that the broker took."""

    def __init__(self, servers: str, topic: str, seed: int | str) -> None:
        host, _, port = servers.partition(":")
        self._socket = socket.create_connection((host, int(port)), _SECONDS)
        self._topic, self._rng = topic.encode(), Random(seed)
        self._batches = RecordBatches(seed)
        self.sent = self.taken = 0

    def send(self, count: int) -> None:
        for batch in self._batches.responses(count):
            if len(batch) > _CHECKED_FROM:
                self.sent += 1
                self.taken += self._produce(with_checksum(batch), int(self._rng.random() * 2))

    def close(self) -> None:
        self._socket.close()

    def _produce(self, batch: bytes, partition: int) -> bool:
        body = b"".join(
            (
                struct.pack(">hhih", _PRODUCE, _VERSION, self.sent, len(_CLIENT)),
                _CLIENT,
                struct.pack(">hhiih", -1, _ACKS, _TIMEOUT_MS, 1, len(self._topic)),
                self._topic,
                struct.pack(">iii", 1, partition, len(batch)),
                batch,
            )
        )
        self._socket.sendall(struct.pack(">i", len(body)) + body)
        (size,) = struct.unpack(">i", self._receive(4))
        answer = self._receive(size)
        (error,) = struct.unpack_from(">h", answer, 4 + 4 + 2 + len(self._topic) + 4 + 4)
        return bool(error == 0)

    def _receive(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            part = self._socket.recv(size - len(received))
            if not part:
                raise ConnectionError("the broker closed the connection")
            received += part
        return received
