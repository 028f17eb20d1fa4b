"""Compressed batches are read as plain ones; what is damaged or explodes is refused."""

import gzip
import struct
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from bench.fuzzing.mutations import mutated
from bench.fuzzing.record_batches import TOKENS, RecordBatches
from service.kafka import inflating
from service.kafka.broker_connection import Response
from service.kafka.broker_socket import UnusualAnswer
from service.kafka.inflating import inflated
from service.kafka.record_batches import SLACK

HEADER, ATTRIBUTES = 61, 21
FAR = 1 << 60
CODECS = {"gzip": 1, "snappy": 2, "java": 2, "lz4": 3, "zstd": 4}


def response(data):
    source = np.full(len(data) + SLACK, 0xFF, np.uint8)
    source[: len(data)] = np.frombuffer(data, np.uint8)
    return Response(np.empty((0, 2), np.int64), source, 0, len(data))


def content(answer):
    return answer.source[answer.start : answer.end].tobytes()


def packed(codec, records):
    if codec == "gzip":
        return gzip.compress(records)
    if codec == "java":
        blocks = [records[at : at + 1000] for at in range(0, len(records), 1000)]
        framed = [pa.compress(b, "snappy", asbytes=True) for b in blocks]
        sized = b"".join(struct.pack(">i", len(b)) + b for b in framed)
        return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + sized
    if codec == "snappy":
        return pa.compress(records, "snappy", asbytes=True)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(records)
    return sink.getvalue().to_pybytes()


def compressed(codec, batch):
    """A batch with its records compressed."""
    head, records = bytearray(batch[:HEADER]), packed(codec, batch[HEADER:])
    struct.pack_into(">i", head, 8, HEADER - 12 + len(records))
    head[ATTRIBUTES + 1] |= CODECS[codec]
    return bytes(head) + records


def batch(offset, records):
    return (
        struct.pack(
            ">qiibIhiqqqhii", offset, 49 + len(records), 0, 2, 0, 0, 9, 1000, 1000, -1, -1, -1, 10
        )
        + records
    )


PLAIN = [batch(10 * n, Random(n).randbytes(50) * 100) for n in range(4)]


@pytest.mark.parametrize("codec", CODECS)
def test_batches_are_as_they_were_before_they_were_compressed(codec):
    mixed = [PLAIN[0], compressed(codec, PLAIN[1]), PLAIN[2], compressed(codec, PLAIN[3])]
    assert content(inflated(response(b"".join(mixed)), FAR)) == b"".join(PLAIN)


def test_a_response_without_compression_is_not_copied():
    answer = response(b"".join(PLAIN))
    assert inflated(answer, FAR) is answer


def test_batches_behind_the_range_and_cut_ones_are_left_out():
    data = b"".join(compressed("lz4", one) for one in PLAIN)
    assert content(inflated(response(data), 20)) == b"".join(PLAIN[:2])
    assert content(inflated(response(data[:-1]), FAR)) == b"".join(PLAIN[:3])


@pytest.mark.parametrize("codec", CODECS)
def test_what_becomes_larger_than_the_limit_is_refused(codec, monkeypatch):
    monkeypatch.setattr(inflating, "_LARGEST", 3 << 20)
    bomb = compressed(codec, batch(0, bytes(8 << 20)))
    with pytest.raises(UnusualAnswer):
        inflated(response(bomb), FAR)


def test_a_size_that_cannot_be_is_not_believed():
    claim = b"\xff\xff\xff\xff\x0f" + b"x" * 100  # four gigabytes
    head = bytearray(batch(0, claim))
    head[ATTRIBUTES + 1] |= CODECS["snappy"]
    with pytest.raises(UnusualAnswer, match="say they become"):
        inflated(response(bytes(head)), FAR)


def test_an_unknown_compression_is_refused():
    head = bytearray(PLAIN[0])
    head[ATTRIBUTES + 1] |= 6
    with pytest.raises(UnusualAnswer, match="unknown compression 6"):
        inflated(response(bytes(head)), FAR)


@pytest.mark.parametrize("codec", CODECS)
def test_damaged_batches_are_refused_or_end_within_the_response(codec):
    rng = Random(codec)
    whole = [compressed(codec, one) for one in PLAIN]
    plain = RecordBatches(codec).responses(20)
    for _ in range(1500):
        data = mutated(rng, rng.choice(whole), [*whole, *plain], TOKENS)
        try:
            found = inflated(response(data), FAR)
        except UnusualAnswer:
            continue
        assert 0 <= found.start <= found.end <= len(found.source) - SLACK
