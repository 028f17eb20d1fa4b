"""The messages that killed the processes that handled them: a file in the checkpoint.

Ingest makes dead letters of them without looking at what they hold. A message is in the file before
the batch that leaves it out runs, so a batch that is run again leaves out the same.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from sde.records.position import Position


class PassedOver:
    """One line a message, with the batch that leaves it out; no line is ever removed."""

    def __init__(self, checkpoint: Path) -> None:
        self._path = checkpoint / "sde-passed-over.jsonl"
        self._messages: list[tuple[int, Position]] = []
        if self._path.exists():
            whole, _, _ = self._path.read_text().rpartition("\n")  # a line may be half written
            for line in map(json.loads, whole.splitlines()):
                position = Position(line["topic"], line["partition"], line["offset"])
                self._messages.append((line["batch"], position))

    def __len__(self) -> int:
        return len(self._messages)

    def since(self, batch: int) -> list[Position]:
        """Those that batches from `batch` on leave out."""
        return [position for left_out_of, position in self._messages if left_out_of >= batch]

    def add(self, batch: int, position: Position) -> None:
        """Durable when it returns."""
        self._messages.append((batch, position))
        new = self._path.with_name(f"{self._path.name}-new")
        with new.open("w") as file:
            for left_out_of, one in self._messages:
                line = {"batch": left_out_of, "topic": one.topic, "partition": one.partition}
                file.write(json.dumps({**line, "offset": one.offset}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
