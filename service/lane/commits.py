"""Which batches are over and what they read, by the files that Spark keeps of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import orjson

from sde.storage.arena_view import Unreadable

Reached = Mapping[str, Mapping[str, int]]  # the offset behind the last message, by topic, partition
_HEAD_LINES = 2  # of a file of offsets: its version, and what Spark says of the batch


class Commits:
    """Batches are over one after the other; Spark keeps the files of the last hundred.

    The file with the offsets of a batch is there before it begins, and never changes.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._offsets, self._commits = checkpoint / "offsets", checkpoint / "commits"
        self._last = -1
        self._read: dict[int, tuple[int, Reached]] = {}  # of a few batches: when, and how far

    def last(self) -> int:
        """The last batch that was carried out by all shards; -1 if there is none."""
        if self._last < 0:
            self._last = self._last_listed()
        while os.path.exists(f"{self._commits}/{self._last + 1}"):
            self._last += 1
        return self._last

    def began(self, batch: int) -> int:
        """When a batch began, in ms; Unreadable if nothing is known of it."""
        return self._of(batch)[0]

    def first_with(self, offsets: Reached) -> int | None:
        """A batch after which everything before these offsets is read; None as long as none is
        planned. It may have to be waited for."""
        last = self.last()
        for batch in (last, last + 1):
            try:
                _, reached = self._of(batch)
            except Unreadable:
                continue
            if all(
                offset <= reached.get(topic, {}).get(partition, 0)
                for topic, partitions in offsets.items()
                for partition, offset in partitions.items()
            ):
                return batch
        return None

    def _of(self, batch: int) -> tuple[int, Reached]:
        found = self._read.get(batch)
        if found is None:
            found = self._parsed(batch)
            self._read = {n: one for n, one in self._read.items() if n >= batch - 1}
            self._read[batch] = found
        return found

    def _parsed(self, batch: int) -> tuple[int, Reached]:
        path = self._offsets / str(batch)
        try:
            lines = path.read_bytes().splitlines()
            began = int(orjson.loads(lines[1])["batchTimestampMs"])
            reached: dict[str, Mapping[str, int]] = {}
            for line in lines[_HEAD_LINES:]:
                reached |= orjson.loads(line)
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            raise Unreadable(f"{path}: {error}") from None
        return began, reached

    def _last_listed(self) -> int:
        try:
            names = os.listdir(self._commits)
        except FileNotFoundError:
            return -1
        return max((int(name) for name in names if name.isdigit()), default=-1)
