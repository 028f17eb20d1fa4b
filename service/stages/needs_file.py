"""A file with the fields of the tuples that the shards of this machine need.

Maintain tasks write it, ingest tasks read it and leave other fields out of their blocks. It is only
a hint: a block that lacks a field its shard needs is read again. So the file may be missing or old.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from sde.tuples.needs import NeedsByDataset


class NeedsFile:
    """Used in Python workers; `folder` is the arena's, which all workers of a machine share."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "needs.json"

    def read(self) -> NeedsByDataset | None:
        """The needs as last written; None if there is no file that can be read."""
        try:
            return NeedsByDataset.from_bytes(self._path.read_bytes())
        except (OSError, ValueError):
            return None

    def write(self, wanted: NeedsByDataset) -> None:
        """Replace the file in one step, unless it has this content already."""
        data = wanted.to_bytes()
        try:
            if self._path.read_bytes() == data:
                return
        except OSError:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_name(f"{self._path.name}-{uuid.uuid4().hex}")
        new.write_bytes(data)
        os.replace(new, self._path)
