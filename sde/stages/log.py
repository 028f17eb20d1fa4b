"""The log of a shard: what a batch applied, kept so that a replay does the same."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from sde.records.arrived import Arrived
from sde.records.codec import encode
from sde.records.upgrade import arrived_of
from sde.wire.framing import pack, unpack

LOG_FORMAT = 3
_OBJECTS = 2  # the format before: records as untyped objects


class _Format(Struct):
    format: int


class _Head(Struct):
    format: int
    before: list[Arrived]  # the batch's data
    after: list[Arrived]


def pack_entry(before: list[Arrived], after: list[Arrived], blocks: list[bytes]) -> bytes:
    return pack([encode(_Head(LOG_FORMAT, before, after)), *blocks])


def unpack_entry(entry: bytes) -> tuple[list[Arrived], list[bytes], list[Arrived]]:
    """What came before the data, the blocks, and what came after them."""
    described, *blocks = unpack(entry)
    found = msgspec.json.decode(described, type=_Format).format
    if found == LOG_FORMAT:
        head = msgspec.json.decode(described, type=_Head)
        return head.before, blocks, head.after
    if found == _OBJECTS:
        old = msgspec.json.decode(described)
        return [*map(arrived_of, old["before"])], blocks, [*map(arrived_of, old["after"])]
    raise ValueError(f"the log has format {found}, this version reads {_OBJECTS} and {LOG_FORMAT}")
