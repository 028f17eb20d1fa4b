"""The maintain stage over one shard, as a worker runs it: arena in files, blocks in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sde.limits import StateLimits
from sde.plugins.trust import OPEN, Trust
from sde.records.arrived import Arrived, Told
from sde.records.asked import Asked
from sde.records.loop import Loop, Report
from sde.records.partial import Reply
from sde.records.position import Position
from sde.records.result import Refused
from sde.stages.maintain import Maintain, open_shard
from sde.storage.arena import Arena
from sde.tuples.block import Block
from sde.wire import decode_request

TRUST = Trust(OPEN)
LIMITS = StateLimits()


class OneShard:
    """Batch after batch; a fault is an error."""

    def __init__(self, folder: Path) -> None:
        self.shard = open_shard(0, 1, Arena(folder), LIMITS)
        self._batch = 0

    def ask(self, request: Mapping[str, Any], blocks: Sequence[Block] = ()) -> list[Report]:
        """A batch with one request."""
        position = Position("requests", 0, self._batch)
        decoded = decode_request(request, str(position))
        return self.run([Asked(position=position, time=0, request=decoded)], blocks)

    def tell(self, messages: Sequence[Loop]) -> list[Report]:
        """A batch with what comes round the loop."""
        told = [
            Told(position=Position("union", 0, n), time=0, message=message)
            for n, message in enumerate(messages)
        ]
        return self.run(told, [])

    def run(self, arrived: Sequence[Arrived], blocks: Sequence[Block]) -> list[Report]:
        stage = Maintain(self.shard, self._batch)
        self._batch += 1
        for partial in stage.on_batch(arrived, blocks):
            if isinstance(partial, Reply) and isinstance(partial.result, Refused):
                raise RuntimeError(partial.result.fault)
        if self.shard.registry.shelf.reasons:
            raise RuntimeError(self.shard.registry.shelf.reasons)
        return stage.reports
