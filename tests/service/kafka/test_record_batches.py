"""What a broker sends is not trusted: no number in a batch leads out of it."""

import struct

import numpy as np
import pytest

from bench.fuzzing.record_batches import RecordBatches
from service.kafka import record_batches as kernel
from service.kafka.chunk import Chunk, ChunkShape
from service.kafka.cursor import Cursor

LARGEST = b"\xfe" + b"\xff" * 8 + b"\x01"  # 2**63 - 1, as a zigzag varint
SMALLEST = b"\xff" * 9 + b"\x01"


def unpack(data, **extra):
    source = np.full(len(data) + kernel.SLACK, 0xFF, np.uint8)
    source[: len(data)] = np.frombuffer(data, np.uint8)
    chunk = Chunk(Cursor({}, "t", 0, 0, 100, 1), ChunkShape(1 << 12, 50, **extra))
    reason, at, chunk.used, chunk.filled, _, chunk.extra_used = kernel.unpack(
        source, 0, len(data), np.empty((0, 2), np.int64), np.empty(0, np.int64), 0, 100,
        *chunk.state(), *chunk.extra_state(),
    )  # fmt: skip
    return reason, at, chunk.messages()


def batch(records):
    header = struct.pack(
        ">qiibIhiqqqhii", 0, 49 + len(records), 0, 2, 0, 0, 0, 1000, 1000, -1, -1, -1, 1
    )
    return header + records


@pytest.mark.parametrize(
    "record",
    [
        LARGEST + b"\0\0\0" + LARGEST + b"\0" * 30,
        LARGEST + b"\0\0\0\x02" + LARGEST + b"\0" * 30,
        SMALLEST + b"\0\0\0\x02k\x02v\0",
        b"\x10\0\0\0" + LARGEST + b"\0" * 30,
        b"\x10\0\0\0\x02k" + LARGEST + b"\0" * 30,
        b"\x10\0" + LARGEST * 3,
    ],
)
def test_a_length_that_no_batch_can_have_is_unusual(record):
    reason, at, messages = unpack(batch(record))
    assert (reason, at, len(messages)) == (kernel.UNUSUAL, 0, 0)


def test_messages_of_fuzzed_batches_lie_within_what_was_unpacked():
    for data in RecordBatches("tests").responses(20_000):
        _, at, messages = unpack(data)
        assert 0 <= at <= len(data)
        assert (messages.starts <= messages.ends).all()
        assert (messages.ends < len(messages.buffer)).all()
        assert (np.diff(messages.offsets) > 0).all()


@pytest.mark.parametrize(("keys", "headers"), [(True, False), (False, True), (True, True)])
def test_keys_and_headers_of_fuzzed_batches_change_nothing_else_and_lie_within(keys, headers):
    for data in RecordBatches("extra").responses(5_000):
        *stopped, plain = unpack(data)
        *stopped_too, messages = unpack(data, keys=keys, headers=headers)
        assert stopped_too == stopped
        np.testing.assert_array_equal(messages.buffer, plain.buffer)
        assert plain.keys is plain.headers is None
        assert (messages.keys is not None, messages.headers is not None) == (keys, headers)
        for pieces in filter(None, (messages.keys, messages.headers)):
            assert len(pieces) == len(messages)
            assert (pieces.ends <= len(pieces.buffer)).all()
            assert (pieces.starts <= pieces.ends).all()


def test_a_chunk_is_full_when_its_keys_are():
    records = b"".join(
        b"\x20\0\0" + bytes([2 * i]) + b"\x14" + b"k" * 10 + b"\x00\0" for i in range(9)
    )
    data = batch(records)
    source = np.zeros(len(data) + kernel.SLACK, np.uint8)
    source[: len(data)] = np.frombuffer(data, np.uint8)
    chunk = Chunk(Cursor({}, "t", 0, 0, 100, 1), ChunkShape(35, 50, keys=True))
    reason, at, _, filled, reached, extra = kernel.unpack(
        source, 0, len(data), np.empty((0, 2), np.int64), np.empty(0, np.int64), 0, 100,
        *chunk.state(), *chunk.extra_state(),
    )  # fmt: skip
    assert (reason, at, filled, reached, extra) == (kernel.CHUNK_FULL, 0, 3, 3, 30)
