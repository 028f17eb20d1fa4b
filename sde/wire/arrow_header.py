"""Looks into the header of an Arrow message: how long is its body, and is it compressed?

Arrow's reader allocates what a compressed body claims to be once unpacked, so a small message
could claim all memory there is; and it does not tell beforehand. The header is a flatbuffer: a
table is preceded by the distance to its vtable, which holds the place of each field.
"""

from __future__ import annotations

import struct

_HEADER_TYPE, _HEADER, _BODY_LENGTH = 1, 2, 3  # fields of Message
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3  # values of the header's type
_DATA = 1  # field of DictionaryBatch: its record batch
_COMPRESSION = 3  # field of RecordBatch


def is_compressed(header: memoryview) -> bool:
    """Raises struct.error if the header is damaged."""
    message = struct.unpack_from("<I", header, 0)[0]
    kind_at = _field(header, message, _HEADER_TYPE)
    table_at = _field(header, message, _HEADER)
    if kind_at is None or table_at is None:
        return False
    kind = header[kind_at : kind_at + 1]
    batch: int | None = _follow(header, table_at)
    if kind == bytes([_DICTIONARY_BATCH]):
        data_at = _field(header, batch, _DATA)
        batch = None if data_at is None else _follow(header, data_at)
    elif kind != bytes([_RECORD_BATCH]):
        return False
    return batch is not None and _field(header, batch, _COMPRESSION) is not None


def body_bytes(header: memoryview) -> int:
    """How many bytes follow the header; raises struct.error if it is damaged."""
    message = struct.unpack_from("<I", header, 0)[0]
    at = _field(header, message, _BODY_LENGTH)
    return 0 if at is None else int(struct.unpack_from("<q", header, at)[0])


def _follow(header: memoryview, at: int) -> int:
    return at + int(struct.unpack_from("<I", header, at)[0])


def _field(header: memoryview, table: int | None, field: int) -> int | None:
    """Where the field of a table stands, None if the table has it not."""
    if table is None:
        return None
    vtable = table - struct.unpack_from("<i", header, table)[0]
    if vtable < 0:
        raise struct.error("a table without a vtable")
    size = struct.unpack_from("<H", header, vtable)[0]
    entry = 4 + 2 * field
    if entry + 2 > size:
        return None
    offset = struct.unpack_from("<H", header, vtable + entry)[0]
    return table + offset if offset else None
