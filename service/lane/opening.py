"""The lane of an engine on this machine: of its arena and its checkpoint."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from service.lane.commits import Commits
from service.settings import Settings

if TYPE_CHECKING:
    from sde.stages.lane import Lane, Question
    from sde.wire import ReplyFields

_LOOK_SECONDS = 0.0005


class PatientLane:
    """Asks again for a while, as long as batches are at work."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane

    def reply(self, request: Question, patience: float, at_least: int = -1) -> ReplyFields:
        """See `Lane.reply`; NotAtRest after so many seconds."""
        from sde.shard.reader import NotAtRest

        deadline = time.monotonic() + patience
        while True:
            try:
                return self._lane.reply(request, at_least)
            except NotAtRest:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_LOOK_SECONDS)


def open_lane(settings: Settings) -> PatientLane:
    """Imports what answers questions, numba among it: others need not."""
    from sde.shard.reader import ShardReader
    from sde.stages.lane import Lane
    from sde.stages.maintain import open_shard

    readers = [
        ShardReader(
            settings.arena_folder / f"shard-{number}",
            number,
            settings.shards,
            settings.limits,
            open_shard,
        )
        for number in range(settings.shards)
    ]
    return PatientLane(Lane(readers, settings.site, Commits(settings.checkpoint).has))
