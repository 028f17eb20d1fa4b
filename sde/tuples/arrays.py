"""Arrays as bytes: what a block becomes in the exchange between stages and in a shard's log.

Only `sde.tuples.block` writes and reads them. The bytes are durable: a log may be read by a later
version.

magic "SDEB" | format u16 | compressed u16 | header length u32 | body length u64
header as JSON | body, perhaps LZ4 | CRC-32 of everything before

The body is one array after the other, each padded to 8 bytes. Logs are written at tens of
megabytes a second, so arrays are kept small: integers as differences from their smallest, in the
fewest bytes that hold them all; texts as lengths; flags as bits.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from sde.tuples.column import Coded, Column
from sde.tuples.needs import NeedsJson
from synopses.errors import StateError
from synopses.texts import Texts

_HEADER = struct.Struct("<4sHHIQ")
_CHECKSUM = struct.Struct("<I")
_MAGIC = b"SDEB"
_FORMAT = 1
_CODEC = "lz4_raw"
_MOST_EXPANDED = 255  # times: no LZ4 bytes stand for more
_ALIGNMENT = 8
_WIDTHS = ("u1", "u2", "u4", "i8")  # of integers

Buffer = bytes | memoryview


class BlockHeader(msgspec.Struct, frozen=True, kw_only=True):
    """All of a block but its arrays, and how those are written; see `Block` for the meaning."""

    dataset: str
    shard: int
    topic: str
    partition: int
    base: int
    line: int = 0  # this and the next were left out before there was anything to leave out
    kept: NeedsJson | None = None
    lines: bool  # whether there is an array of them
    arrivals: bool
    removes: bool | UnsetType = UNSET  # left out where it is not so
    fields: list[tuple[str, str, bool]]  # name, and what `ArrayWriter.put_column` returned
    arrays: list[tuple[str, int, int]] = []  # type, count and smallest value of each


_read_header = msgspec.json.Decoder(BlockHeader).decode


class ArrayWriter:
    """Arrays are read back in the order they were put. They must not change before that."""

    def __init__(self) -> None:
        self._parts: list[Buffer] = []
        self._arrays: list[tuple[str, int, int]] = []

    def _put(self, array: NDArray[Any], smallest: int = 0) -> None:
        data = np.ascontiguousarray(array).view(np.uint8)
        self._parts += [data.data, bytes(-data.nbytes % _ALIGNMENT)]
        self._arrays.append((array.dtype.str.lstrip("<|"), len(array), smallest))

    def put_integers(self, array: NDArray[Any]) -> None:
        """As differences from the smallest, in the fewest bytes that hold them all."""
        low, high = (int(array.min()), int(array.max())) if len(array) else (0, 0)
        width = next(w for w in _WIDTHS if w == "i8" or high - low < 1 << (8 * int(w[1])))
        if width == "i8":
            self._put(array.astype(np.int64))
        else:
            self._put((array - array.dtype.type(low)).astype(width), low)

    def put_texts(self, texts: Texts) -> None:
        """As lengths, and one array of all bytes."""
        self.put_integers(texts.offsets[1:] - texts.offsets[:-1])
        self._put(texts.buffer[texts.offsets[0] : texts.offsets[-1]])

    def put_column(self, column: Column) -> tuple[str, bool]:
        """The form of the column and whether values are missing: `ArrayReader.column` asks."""
        if isinstance(column.data, Texts):
            kind = "texts"
            self.put_texts(column.data)
        elif isinstance(column.data, Coded):
            kind = "coded"
            self.put_texts(column.data.texts)
            self.put_integers(column.data.codes)
        elif column.data.dtype == np.int64:
            kind = "integers"
            self.put_integers(column.data)
        else:
            kind = "decimals"
            self._put(column.data)
        if column.valid is not None:
            self._put(np.packbits(column.valid))
        return kind, column.valid is not None

    def to_parts(self, about: BlockHeader, compress: bool) -> list[Buffer]:
        """The bytes, in pieces: all arrays that were put, behind the header."""
        header = msgspec.json.encode(msgspec.structs.replace(about, arrays=self._arrays))
        # Blanks behind it, so that the body is aligned wherever the whole is.
        header += b" " * (-(_HEADER.size + len(header)) % _ALIGNMENT)
        size = sum(len(part) for part in self._parts)
        body = self._parts
        if compress:
            body = [pa.compress(b"".join(body), codec=_CODEC, asbytes=True)]
        parts = [_HEADER.pack(_MAGIC, _FORMAT, compress, len(header), size), header, *body]
        checksum = 0
        for part in parts:
            checksum = zlib.crc32(part, checksum)
        return [*parts, _CHECKSUM.pack(checksum)]


class ArrayReader:
    """Raises StateError where the bytes are not what `ArrayWriter` wrote.

    Arrays that can be written to are parts of `data`, not copies.
    """

    def __init__(self, data: Buffer) -> None:
        self.header, self._body = _open(data)
        self._arrays, self._at = iter(self.header.arrays), 0

    def _take(self, *kinds: str) -> tuple[NDArray[Any], int]:
        kind, count, smallest = next(self._arrays)
        if kind not in kinds or count < 0:
            raise StateError(f"an array of {count} {kind!r}, expected one of {', '.join(kinds)}")
        size = count * int(kind[1])
        if self._at + size > len(self._body):
            raise StateError(f"an array of {size} bytes, only {len(self._body) - self._at} left")
        array = self._body[self._at : self._at + size].view(kind)
        self._at += size + -size % _ALIGNMENT
        return array, smallest

    def integers(self, kind: type[np.generic], rows: int | None = None) -> NDArray[Any]:
        """The next array, of integers: of `rows` rows, or none where it was left out."""
        array, smallest = self._take(*_WIDTHS)
        if rows is not None and len(array) not in (0, rows):
            raise StateError(f"an array of {len(array)} rows in a block of {rows}")
        bounds = np.iinfo(kind)  # type: ignore[type-var]
        if len(array) and not (
            bounds.min <= int(array.min()) + smallest and int(array.max()) + smallest <= bounds.max
        ):
            raise StateError(f"integers beyond {kind.__name__}")
        # The differences may wrap round in `kind`, but not what they are differences of.
        wide = array.astype(kind)
        if smallest:
            wide += np.int64(smallest).astype(kind)
        return wide

    def texts(self, rows: int | None = None) -> Texts:
        lengths = self.integers(np.uint32)
        if rows is not None and len(lengths) != rows:
            raise StateError(f"{len(lengths)} texts in a block of {rows}")
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        buffer, _ = self._take("u1")
        if offsets[-1] != len(buffer):
            raise StateError(f"texts of {offsets[-1]} bytes, there are {len(buffer)}")
        return Texts(buffer, offsets)

    def column(self, rows: int, kind: str, has_valid: bool) -> Column:
        data: NDArray[Any] | Texts | Coded
        if kind == "texts":
            data = self.texts(rows)
        elif kind == "coded":
            data = Coded(self.texts(), self.integers(np.int32))
            if rows and not 0 <= int(data.codes.min()) <= int(data.codes.max()) < len(data.texts):
                raise StateError(f"a text beyond the {len(data.texts)} of a column")
        elif kind == "integers":
            data = self.integers(np.int64)
        elif kind == "decimals":
            data, _ = self._take("f8")
        else:
            raise StateError(f"a column of {kind!r}")
        if len(data) != rows:
            raise StateError(f"a column of {len(data)} values in a block of {rows}")
        if not has_valid:
            return Column(data)
        bits, _ = self._take("u1")
        if len(bits) != -(-rows // 8):
            raise StateError(f"{len(bits)} bytes of flags in a block of {rows}")
        return Column(data, np.unpackbits(bits, count=rows).view(np.bool_))

    def finish(self) -> None:
        """All must have been read."""
        if self._at != len(self._body) or next(self._arrays, None) is not None:
            raise StateError("there is more in it than what belongs there")


def _open(data: Buffer) -> tuple[BlockHeader, NDArray[np.uint8]]:
    if len(data) < _HEADER.size + _CHECKSUM.size:
        raise StateError(f"{len(data)} bytes are too few for a block")
    magic, version, compressed, n_header, n_body = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _FORMAT:
        raise StateError(f"found {magic!r} of format {version}, expected {_MAGIC!r} of {_FORMAT}")
    packed = memoryview(data)[: -_CHECKSUM.size]
    if _CHECKSUM.unpack_from(data, len(packed))[0] != zlib.crc32(packed):
        raise StateError("the checksum does not match: the bytes are damaged")
    stored = packed[_HEADER.size + n_header :]
    if compressed and n_body <= _MOST_EXPANDED * len(stored):
        try:
            stored = memoryview(pa.decompress(stored, n_body, codec=_CODEC))
        except OSError as error:
            raise StateError(f"the body cannot be decompressed: {error}") from None
    if len(stored) != n_body:
        raise StateError(f"the header promises {n_body} bytes, there are {len(stored)}")
    try:
        header = _read_header(packed[_HEADER.size : _HEADER.size + n_header])
    except (ValueError, RecursionError) as error:
        raise StateError(f"the header of a block cannot be read: {error}") from None
    body = np.frombuffer(stored, np.uint8)
    # Kernels are compiled for arrays that are aligned and can be written to.
    usable = body.flags.writeable and body.ctypes.data % _ALIGNMENT == 0
    return header, body if usable else body.copy()
