"""Blocks on their way from ingest to maintain, as files in a folder that all tasks share.

Spark's exchange copies a row about ten times: out of the Python worker, into the shuffle's files,
through a sort, and into another worker. Where all tasks run on one machine a block is written once
and read once; the row that Spark moves only names its file. A file is read by the one task whose
shard it is for, and is gone then; what a task that failed left behind goes with the next batch. A
block that is not there any more can be read again from Kafka.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

import numpy as np

from sde.tuples.block import Block


class Exchange:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, batch: int, block: Block) -> str:
        """The name of the block's file."""
        name = f"{batch}-{uuid.uuid4().hex}"
        try:
            file = open(self._folder / name, "wb")  # noqa: SIM115
        except FileNotFoundError:
            self._folder.mkdir(parents=True, exist_ok=True)
            file = open(self._folder / name, "wb")  # noqa: SIM115
        with file:
            file.writelines(block.to_parts())
        return name

    def take(self, name: str) -> Block | None:
        """The block, whose file is removed; None if it is gone."""
        path = self._folder / name
        try:
            held = np.fromfile(path, np.uint8)
        except FileNotFoundError:
            return None
        path.unlink(missing_ok=True)
        return Block.from_bytes(held.data)

    def sweep(self, batch: int) -> None:
        """Remove what batches before this one left."""
        with suppress(FileNotFoundError):
            for entry in os.scandir(self._folder):
                number, _, _ = entry.name.partition("-")
                if number.isdigit() and int(number) < batch:
                    Path(entry.path).unlink(missing_ok=True)
