"""The lane of the engine that a data folder has just now."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from sde.shard.reader import NotAtRest, ShardReader
from sde.stages.lane import QUESTIONS, Lane
from sde.stages.maintain import open_shard
from sde.storage.arena_view import Unreadable
from sde.wire import ReplyFields, as_of, decode_request
from sde.wire.status import STATUS_FILE, decode_status
from service.engine.address_file import EngineAddress, address_path, read_address
from service.gateway.lane_frames import LaneQuestion
from service.lane.commits import Commits

Answering = Callable[[LaneQuestion], ReplyFields]
_MOST_BATCHES_AHEAD = 1  # a reply is of a batch that has begun, and one begins after another


class OpenedLane:
    """Opens the lane, and opens it again when the engine was started again.

    What it raises is Unreadable: also NotAtRest, which is worth another try.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: tuple[int, int] | None = None
        self._lane: Lane | None = None
        self._lag = _Lag(folder / STATUS_FILE)

    @contextmanager
    def turn(self) -> Iterator[Answering]:
        """What is asked meanwhile shares what it takes. It keeps batches waiting."""
        lane, commits = self._current()
        with lane.turn():
            yield partial(self._reply, lane, commits, self._lag.messages())

    def _reply(
        self, lane: Lane, commits: Commits, lag: int | None, question: LaneQuestion
    ) -> ReplyFields:
        """What the engine would reply, and as of when that is."""
        request = decode_request(question.message, "")
        if not isinstance(request, QUESTIONS):
            raise Unreadable(f"{request.op} is for the engine")
        fields = lane.reply(request, self._needed(question, commits))
        return as_of(fields, commits.began(fields["batch"]), lag)

    def _needed(self, question: LaneQuestion, commits: Commits) -> int:
        """The batch that has to be over for this question."""
        if question.batch >= 0 and question.batch > commits.last() + _MOST_BATCHES_AHEAD:
            raise Unreadable(f"batch {question.batch} is of another checkpoint")
        if not question.offsets:
            return question.batch
        reached = commits.first_with(
            {
                topic: {str(partition): offset for partition, offset in partitions.items()}
                for topic, partitions in question.offsets.items()
            }
        )
        if reached is None:
            raise NotAtRest("what was written is not read yet")
        return max(question.batch, reached)

    def _current(self) -> tuple[Lane, Commits]:
        path = address_path(self._folder)
        try:
            file = os.stat(path)
            if self._lane is None or self._seen != (file.st_ino, file.st_mtime_ns):
                self._seen = file.st_ino, file.st_mtime_ns
                self._lane = None
                self._open(read_address(path.read_bytes()))
        except (OSError, msgspec.DecodeError) as error:
            raise Unreadable(f"{path}: {error}") from None
        if self._lane is None:
            raise Unreadable("the arena of this engine may be on other machines")
        return self._lane, self._commits

    def _open(self, address: EngineAddress) -> None:
        place = address.lane
        if place is None:
            return
        readers = [
            ShardReader(
                Path(place.arena) / f"shard-{number}",
                number,
                place.shards,
                place.limits,
                open_shard,
            )
            for number in range(place.shards)
        ]
        self._commits = Commits(Path(place.checkpoint))
        self._lane = Lane(readers, place.site, self._commits.last)


class _Lag:
    """How many messages wait to be read, as the engine writes it down once a second."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = (0, 0)
        self._messages: int | None = None

    def messages(self) -> int | None:
        try:
            file = os.stat(self._path)
            if self._seen != (file.st_ino, file.st_mtime_ns):
                self._seen = file.st_ino, file.st_mtime_ns
                self._messages = decode_status(self._path.read_bytes()).lag
        except (OSError, msgspec.DecodeError):
            return None
        return self._messages
