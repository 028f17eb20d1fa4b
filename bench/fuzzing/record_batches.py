"""Kafka's record batches as a broker sends them, valid and mutated."""

from __future__ import annotations

import struct
from random import Random

from bench.fuzzing.mutations import mutated
from sde.decoding.headers import packed_headers, varint

# Numbers in records are zigzag varints; these are the largest, the smallest, and one too long.
TOKENS = (
    b"\xfe" + b"\xff" * 8 + b"\x01", b"\xff" * 9 + b"\x01", b"\x80" * 10, b"\xff" * 12, b"\x00",
    b"\x01", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\x00\x31", b"\x02",
)  # fmt: skip
HEADERS = ("site", "sit", "type", "")


class RecordBatches:
    """Makes what a fetch returns: batches one after the other, the last perhaps not whole."""

    def __init__(self, seed: int | str) -> None:
        self._rng = Random(seed)
        self._valid = [self._batches() for _ in range(50)]

    def responses(self, count: int) -> list[bytes]:
        rng, valid = self._rng, self._valid
        return [
            mutated(rng, valid[int(rng.random() * len(valid))], valid, TOKENS) for _ in range(count)
        ]

    def _batches(self) -> bytes:
        rng, offset, batches = self._rng, 0, b""
        for _ in range(1 + int(rng.random() * 3)):
            count = 1 + int(rng.random() * 9)
            batches += _batch(offset, [self._record(i) for i in range(count)], rng.choice((0, 16)))
            offset += count
        return batches

    def _record(self, number: int) -> bytes:
        rng = self._rng
        key = None if rng.random() < 0.5 else b"k" * int(rng.random() * 9)
        value = None if rng.random() < 0.1 else b"v" * int(rng.random() * 90)
        body = b"\0" + varint(int(rng.random() * 1000)) + varint(number)
        for part in (key, value):
            body += varint(-1) if part is None else varint(len(part)) + part
        body += packed_headers([self._header() for _ in range(int(rng.random() ** 2 * 4))])
        return varint(len(body)) + body

    def _header(self) -> tuple[str, bytes | None]:
        rng = self._rng
        value = None if rng.random() < 0.2 else b"h" * int(rng.random() * 9)
        return rng.choice(HEADERS), value


def _batch(offset: int, records: list[bytes], attributes: int) -> bytes:
    body, count = b"".join(records), len(records)
    after_length = struct.pack(
        ">ibIhiqqqhii", 0, 2, 0, attributes, count - 1, 1000, 1000, 7, 0, 0, count
    )
    return struct.pack(">qi", offset, len(after_length) + len(body)) + after_length + body
