"""Spark's own log of batches in a checkpoint: what was planned, and what is done.

offsets/N   how far batch N reads, written before it runs
commits/N   batch N is done: its state is saved and its replies are written
state/*/*/N+1.changelog, N+1.zip   the state after batch N, one folder for each task
"""

from __future__ import annotations

import json
from pathlib import Path

from service.kafka.offsets import Offsets, from_json

_NO_OFFSETS = "-"  # stands for a source that has told none yet


class BatchLog:
    """Read at any time; changed only while no query runs on the checkpoint."""

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint

    def done(self) -> int:
        """The last batch that is done, or -1."""
        return self._last("commits")

    def planned(self) -> int:
        """The last batch whose offsets are there, or -1; Spark writes them before a batch runs."""
        return self._last("offsets")

    def pending(self) -> int | None:
        """The batch that was planned and is not done, if there is one."""
        planned = self.planned()
        return planned if planned > self.done() else None

    def ends(self, batch: int) -> Offsets:
        """How far a batch reads; empty for the one before the first."""
        if batch < 0:
            return {}
        _version, _metadata, *sources = (
            (self._checkpoint / "offsets" / str(batch)).read_text().splitlines()
        )
        ends: Offsets = {}
        for source in sources:
            if source != _NO_OFFSETS:
                ends |= from_json(json.loads(source))
        return ends

    def forget(self, batch: int) -> None:
        """Let a batch that is not done be planned anew.

        The state that some of its tasks saved goes first: were it kept, Spark could take a snapshot
        of it for that of the batch that gets the same number.
        """
        for suffix in ("changelog", "zip"):
            for path in self._checkpoint.glob(f"state/*/*/**/{batch + 1}.{suffix}"):
                _remove(path)
        _remove(self._checkpoint / "offsets" / str(batch))

    def _last(self, folder: str) -> int:
        names = [path.name for path in (self._checkpoint / folder).glob("*")]
        return max((int(name) for name in names if name.isdigit()), default=-1)


def _remove(path: Path) -> None:
    """With the checksum that Hadoop keeps beside it."""
    path.unlink(missing_ok=True)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
