"""The log of a shard: what a batch applied, kept so that a replay does the same.

What a plug-in did cannot always be done again: where it misbehaved while tuples were added, or took
over the states of an older version, the entry has the states of its kind at the end of the batch.
"""

from __future__ import annotations

from typing import NamedTuple

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
    kinds: list[str] = []  # whose states are the last parts


class Entry(NamedTuple):
    """What came before the data, the blocks, what came after them, and states that replaying does
    not make, by kind."""

    before: list[Arrived]
    blocks: list[bytes]
    after: list[Arrived]
    states: dict[str, bytes]


def pack_entry(entry: Entry) -> bytes:
    head = _Head(LOG_FORMAT, entry.before, entry.after, list(entry.states))
    return pack([encode(head), *entry.blocks, *entry.states.values()])


def unpack_entry(packed: bytes) -> Entry:
    described, *blocks = unpack(packed)
    found = msgspec.json.decode(described, type=_Format).format
    if found == LOG_FORMAT:
        head = msgspec.json.decode(described, type=_Head)
        count = len(blocks) - len(head.kinds)
        states = dict(zip(head.kinds, blocks[count:], strict=True))
        return Entry(head.before, blocks[:count], head.after, states)
    if found == _OBJECTS:
        old = msgspec.json.decode(described)
        before, after = ([*map(arrived_of, old[name])] for name in ("before", "after"))
        return Entry(before, blocks, after, {})
    raise ValueError(f"the log has format {found}, this version reads {_OBJECTS} and {LOG_FORMAT}")
