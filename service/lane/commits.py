"""Which batches are over, by the files that Spark keeps of them in the checkpoint."""

from __future__ import annotations

import os
from pathlib import Path


class Commits:
    """Batches are over one after the other; Spark keeps the files of the last ones."""

    def __init__(self, checkpoint: Path) -> None:
        self._folder = checkpoint / "commits"
        self._last = -1

    def has(self, batch: int) -> bool:
        """Whether a batch was carried out by all shards."""
        if batch > self._last:
            self._last = max([self._last, *self._numbers()])
        return batch <= self._last

    def _numbers(self) -> list[int]:
        try:
            return [int(name) for name in os.listdir(self._folder) if name.isdigit()]
        except FileNotFoundError:
            return []
