"""Arrow streams whose bytes may be anybody's: none may claim more memory than it has bytes for."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from clients.arrow import arrow
from clients.errors import BadInput
from sde.wire.arrow_header import body_bytes, is_compressed

_MARK = b"\xff\xff\xff\xff"  # before the size of a header; the oldest streams have none
_LARGEST_HEADER = 16 << 20
_BLOCK = 1 << 20  # bytes read at once, whatever a header promises
_MOST_EXPANDED = 64  # times the bytes of a batch, once its dictionaries are written out
_SLACK = 1 << 20
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    TypeError,
    ValueError,
)


@contextlib.contextmanager
def refusing_damage(what: str) -> Iterator[None]:
    """What Arrow raises about bytes gone wrong is about anything. What a file raises passes."""
    try:
        yield
    except BadInput:
        raise
    except _DAMAGE as error:
        raise BadInput(f"{what}: not an Arrow IPC stream that can be read: {error}") from error


class CheckedStream:
    """A file that Arrow reads, with a look at the header of each message before Arrow sees it."""

    def __init__(self, file: BinaryIO, what: str) -> None:
        self.closed = False
        self._file, self._what = file, what
        self._head = b""  # of a message, not yet read
        self._body = 0  # bytes of it that follow

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True

    def read(self, size: int) -> bytes:
        parts = []
        while size and (part := self._part(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _part(self, size: int) -> bytes:
        if not self._head and not self._body:
            self._begin_message()
        if self._head:
            part, self._head = self._head[:size], self._head[size:]
        else:
            part = self._file.read(min(size, self._body, _BLOCK))
            self._body -= len(part)
        return part

    def _begin_message(self) -> None:
        start = self._file.read(4)
        if start == _MARK:
            start += self._file.read(4)
        size = struct.unpack("<i", start[-4:])[0] if len(start) >= 4 else 0
        if not 0 <= size <= _LARGEST_HEADER:
            raise BadInput(f"{self._what}: not an Arrow IPC stream")
        header = self._file.read(size)
        self._head = start + header
        if len(header) < size or not size:  # cut off, or the end: Arrow says what it thinks of it
            return
        found = memoryview(header)
        try:
            compressed, self._body = is_compressed(found), body_bytes(found)
        except struct.error:
            raise BadInput(f"{self._what}: not an Arrow IPC stream: a damaged header") from None
        if compressed:
            raise BadInput(f"{self._what}: a compressed Arrow stream: expected one that is not")
        if self._body < 0:
            raise BadInput(f"{self._what}: not an Arrow IPC stream: a body of {self._body} bytes")


def check_batch(batch: Any, what: str) -> None:
    """BadInput, or Arrow's own error, for a batch that is damaged or much larger than it looks."""
    batch.validate(full=True)
    most = _MOST_EXPANDED * batch.nbytes + _SLACK
    expanded = sum(map(_expanded, batch.columns))
    if expanded > most:
        raise BadInput(
            f"{what}: a batch of {expanded:,} bytes once it is read: expected at most {most:,}"
        )


def _expanded(column: Any) -> int:
    """About how many bytes a column takes when the texts of its dictionary are written out."""
    if not arrow().types.is_dictionary(column.type):
        return int(column.nbytes) + 8 * len(column)
    from pyarrow import compute

    texts = compute.cast(column.dictionary, arrow().large_string())
    lengths = compute.binary_length(texts)
    total = compute.sum(lengths.take(column.indices)).as_py() or 0
    return int(total) + 8 * len(column)
