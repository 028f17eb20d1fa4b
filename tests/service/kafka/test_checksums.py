"""Checksums of batches, against the definition of CRC-32C."""

from random import Random

import numpy as np
import pytest

from bench.fuzzing.record_batches import RecordBatches
from sde.kernels.compiling import kernel
from service.kafka import checksums
from service.kafka.checksums import crc32c, damaged_batch
from service.kafka.record_batches import SLACK


def naive_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def array(data):
    source = np.full(len(data) + SLACK, 0xFF, np.uint8)
    source[: len(data)] = np.frombuffer(data, np.uint8)
    return source


def summed(batch):
    crc = naive_crc32c(batch[21:])
    return batch[:17] + crc.to_bytes(4) + batch[21:]


def whole(offset, size, seed):
    data = Random(seed).randbytes(49 + size)
    return summed(offset.to_bytes(8) + len(data).to_bytes(4) + data)


@pytest.mark.parametrize(
    "data",
    [b"", b"a", b"123456789", *(Random(n).randbytes(n) for n in (7, 8, 64, 1535, 1536, 7777))],
)
def test_the_checksum_is_that_of_the_definition(data):
    assert crc32c(array(b"???" + data), 3, 3 + len(data)) == naive_crc32c(data)


def test_the_check_value_of_the_definition():
    assert crc32c(array(b"123456789"), 0, 9) == 0xE3069283


@pytest.mark.parametrize("add", [checksums.by_tables, checksums._add_word])
def test_tables_give_what_the_instruction_gives(add):
    @kernel
    def one(crc, word):
        return add(crc, word)

    rng = Random(5)
    for _ in range(200):
        crc, word = rng.getrandbits(32), rng.getrandbits(64)
        expected = crc
        for byte in word.to_bytes(8, "little"):
            expected ^= byte
            for _ in range(8):
                expected = expected >> 1 ^ (0x82F63B78 if expected & 1 else 0)
        assert one(np.uint64(crc), np.uint64(word)) == expected


def test_any_changed_bit_is_found_and_where():
    batches = [whole(10 * n, 300 + n, n) for n in range(3)]
    data = b"".join(batches)
    rng = Random(2)
    assert damaged_batch(array(data), 0, len(data), 100) == -1
    for _ in range(300):
        start = len(batches[0])
        place = rng.randrange(start + 17, start + len(batches[1]))
        changed = bytearray(data)
        changed[place] ^= 1 << rng.randrange(8)
        assert damaged_batch(array(changed), 0, len(data), 100) == start
        assert damaged_batch(array(changed), 0, len(data), 10) == -1  # nobody asked for it
    cut = data[:-1] + b"?"
    assert damaged_batch(array(cut[:-1]), 0, len(cut) - 1, 100) == -1  # the last is not whole


def test_fuzzed_batches_are_never_left():
    """In the checked form of the kernels, too."""
    for data in RecordBatches("sums").responses(5_000):
        assert -1 <= damaged_batch(array(data), 0, len(data), 100) < max(len(data), 1)
