"""Compressed record batches become plain ones, which the loop over records can read.

A batch keeps its header; only its records are compressed, all together. What is compressed says
how large it becomes, or does not: it is believed in neither case. Output grows as bytes come, up
to a limit.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from service.kafka.broker_connection import Response
from service.kafka.broker_socket import UnusualAnswer
from service.kafka.record_batches import SLACK

# Base offset, length, epoch of the leader, magic, checksum, attributes; then what is copied.
_HEADER = struct.Struct(">qiibIh")
_HEADER_SIZE, _BEFORE_BATCH, _MAGIC = 61, 12, 2
_CODEC = 7  # bits of the attributes
_SNAPPY, _STREAMS = 2, {1: "gzip", 3: "lz4", 4: "zstd"}
_JAVA_MAGIC, _JAVA_HEADER = b"\x82SNAPPY\x00", 16  # of Java's frames of snappy blocks
_SNAPPY_RATIO = 64  # no block becomes larger than this
_LARGEST = 256 << 20  # bytes of all records of a response
_PIECE = 1 << 20


class _Batch(NamedTuple):
    """Where it lies in a response; its codec, 0 for none."""

    start: int
    end: int
    codec: int


def inflated(response: Response, end_offset: int) -> Response:
    """The same batches without compression; UnusualAnswer if one is damaged, or too large.

    Batches from `end_offset` on may be left out. A response with none that is compressed is
    returned as it is.
    """
    batches = list(_batches(response, end_offset))
    if not any(batch.codec for batch in batches):
        return response
    data, output = response.source.data, _Output(4 * (response.end - response.start))
    for start, end, codec in batches:
        if not codec:
            output.add(data[start:end])
            continue
        header = output.used
        output.add(data[start : start + _HEADER_SIZE])
        try:
            _inflate(codec, data[start + _HEADER_SIZE : end], output)
        except (OSError, pa.ArrowException, struct.error) as error:
            raise UnusualAnswer(f"a compressed batch that is damaged: {error}") from None
        output.mark_plain(header)
    return Response(response.aborted, output.finished(), 0, output.used)


def _batches(response: Response, end_offset: int) -> Iterator[_Batch]:
    """All whole batches before an offset, and those that the loop over records has to judge."""
    data, at = response.source.data, response.start
    while at + _HEADER_SIZE <= response.end:
        base, length, _, magic, _, attributes = _HEADER.unpack_from(data, at)
        end = at + _BEFORE_BATCH + length
        if length < _HEADER_SIZE - _BEFORE_BATCH or magic != _MAGIC:
            end = response.end  # nobody knows what follows
            attributes = 0
        if end > response.end or base >= end_offset:
            return
        yield _Batch(at, end, attributes & _CODEC)
        at = end


class _Output:
    """Bytes that grow as they come; UnusualAnswer beyond the limit."""

    def __init__(self, expected: int) -> None:
        self._array: NDArray[np.uint8] = np.empty(min(expected, _LARGEST) + SLACK, np.uint8)
        self.used = 0

    def room(self, size: int) -> memoryview:
        """Where the next bytes go; `used` is to be moved on by as many as came."""
        needed = self.used + size
        if needed > _LARGEST:
            raise UnusualAnswer(f"compressed batches of more than {_LARGEST} bytes")
        if needed + SLACK > len(self._array):
            grown = np.empty(min(2 * needed, _LARGEST) + SLACK, np.uint8)
            grown[: self.used] = self._array[: self.used]
            self._array = grown
        return self._array.data[self.used : needed]

    def add(self, data: memoryview | pa.Buffer) -> None:
        view = memoryview(data).cast("B")
        self.room(len(view))[:] = view
        self.used += len(view)

    def mark_plain(self, header: int) -> None:
        """The batch whose header stands there ends here and is not compressed."""
        data, length = self._array.data, self.used - header - _BEFORE_BATCH
        base, _, epoch, magic, crc, attributes = _HEADER.unpack_from(data, header)
        _HEADER.pack_into(data, header, base, length, epoch, magic, crc, attributes & ~_CODEC)

    def finished(self) -> NDArray[np.uint8]:
        return self._array[: self.used + SLACK]


def _inflate(codec: int, data: memoryview, output: _Output) -> None:
    if codec == _SNAPPY:
        for block in _snappy_blocks(data):
            output.add(pa.Codec("snappy").decompress(block, _snappy_size(block)))
    elif codec in _STREAMS:
        with pa.CompressedInputStream(pa.BufferReader(data), _STREAMS[codec]) as stream:
            while count := stream.readinto(output.room(_PIECE)):
                output.used += count
    else:
        raise UnusualAnswer(f"a batch with the unknown compression {codec}")


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    """One block; or several, each behind its size, in the frame that Java's clients write."""
    if bytes(data[: len(_JAVA_MAGIC)]) != _JAVA_MAGIC:
        yield data
        return
    at = _JAVA_HEADER
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        at += 4
        if not 0 < size <= len(data) - at:
            raise UnusualAnswer("a compressed batch that is damaged: its blocks do not fit")
        yield data[at : at + size]
        at += size


def _snappy_size(block: memoryview) -> int:
    """The size that a block says it becomes, if one of its length can."""
    size = shift = 0
    for byte in block[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    if size > _SNAPPY_RATIO * len(block) or size > _LARGEST:
        raise UnusualAnswer(f"{len(block)} compressed bytes that say they become {size}")
    return size
