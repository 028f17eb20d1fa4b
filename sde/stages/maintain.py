"""maintain: apply requests, add blocks, answer, for one shard and one micro-batch.

    requests, blocks of one shard ──> Maintain ──> partials (next stage: merge), log entry

Order: requests apply in the order of their topic; the batch's data is added once, just before
the first request that reads, or at the end. So an answer sees all data of its batch, and so does
a synopsis that was created before the first reading request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from sde.answering import change, decoded, say
from sde.arrived import Arrived
from sde.block import Block
from sde.framing import pack, unpack
from sde.messages import Ask, Create, Delete, Describe, Export, ListAll
from sde.partial import Partial
from sde.shard import Shard

LOG_FORMAT = 1
_CHANGES = (Create, Delete)
_READS = (Ask, Export, ListAll, Describe)


class Maintain:
    """The stage over one shard; `entry` is what the log keeps of the batch, empty if nothing."""

    def __init__(self, shard: Shard, batch: int) -> None:
        self._shard = shard
        self._batch = batch
        self.entry = b""

    def on_batch(self, arrived: Sequence[Arrived], blocks: Sequence[Block]) -> list[Partial]:
        shard = self._shard
        blocks = sorted(blocks, key=lambda b: b.order)
        before: list[Arrived] = []
        after: list[Arrived] = []
        kept: list[bytes] | None = None
        partials = []
        for one in arrived:
            request = decoded(one)
            if kept is None and isinstance(request, _READS):
                kept = self._add(blocks)
            if isinstance(request, _CHANGES):
                (before if kept is None else after).append(one)
            head, parts = say(shard, request, one.time)
            partials.append(Partial(one, shard.number, shard.of, self._batch, head, parts))
        if kept is None:
            kept = self._add(blocks)
        if before or after or kept:
            self.entry = _pack_entry(before, after, kept)
        shard.save()
        return partials

    def _add(self, blocks: Sequence[Block]) -> list[bytes]:
        """Add blocks; the bytes of what was used of them."""
        kept = []
        for block in blocks:
            needs = self._shard.needs(block.dataset)
            if needs is not None:
                used = block.select(needs.fields, times=needs.times, ids=needs.ids)
                self._shard.add(used)
                kept.append(used.to_bytes(compress=True))
        return kept


# -- the log ------------------------------------------------------------------------------------


def _pack_entry(before: list[Arrived], after: list[Arrived], blocks: list[bytes]) -> bytes:
    head = {
        "format": LOG_FORMAT,
        "before": [a.as_json() for a in before],
        "after": [a.as_json() for a in after],
    }
    return pack([orjson.dumps(head), *blocks])


def replay(shard: Shard, entry: bytes) -> None:
    """Do again what a batch did to a shard: same state, byte for byte."""
    described, *blocks = unpack(entry)
    head = orjson.loads(described)
    if head["format"] != LOG_FORMAT:
        raise ValueError(f"the log has format {head['format']}, this version reads {LOG_FORMAT}")
    _change_all(shard, head["before"])
    for block in blocks:
        shard.add(Block.from_bytes(block))
    _change_all(shard, head["after"])
    shard.save()


def _change_all(shard: Shard, held: list[dict[str, Any]]) -> None:
    for arrived in map(Arrived.from_json, held):
        request = decoded(arrived)
        if isinstance(request, _CHANGES):
            change(shard, request, arrived.time)
