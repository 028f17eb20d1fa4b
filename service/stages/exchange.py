"""Blocks on their way from ingest to maintain, as files in a folder that all tasks share.

Spark's exchange copies a row about ten times: out of the Python worker, into the shuffle's files,
through a sort, and into another worker. Where all tasks run on one machine a block is written once
and read once; the row that Spark moves only names its file. Only the task of the block's shard
reads the file, and removes it; files of a task that failed are removed in the next batch. A block
whose file is gone can be read again from Kafka.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

import numpy as np

from sde.tuples.block import Block


class Exchange:
    """Used in Python workers: ingest tasks put blocks, maintain tasks take them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, batch: int, block: Block) -> str:
        """Write a block of a batch; return the name of its file."""
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
        """Read a block and remove its file; None if the file is gone."""
        path = self._folder / name
        try:
            data = np.fromfile(path, np.uint8)
        except FileNotFoundError:
            return None
        path.unlink(missing_ok=True)
        return Block.from_bytes(data.data)

    def sweep(self, batch: int) -> None:
        """Remove the files of earlier batches, which tasks that failed left behind."""
        with suppress(FileNotFoundError):
            for entry in os.scandir(self._folder):
                number, _, _ = entry.name.partition("-")
                if number.isdigit() and int(number) < batch:
                    Path(entry.path).unlink(missing_ok=True)
