"""What the shards of this machine read of the tuples, told to its ingest tasks through a file.

It is only a hint: a block that lacks what its shard needs is read again. So nothing depends on the
file being there, or being new.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from sde.tuples.needs import Wanted


class WantedFile:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "wanted.json"

    def read(self) -> Wanted | None:
        """None if nothing is known."""
        try:
            return Wanted.from_bytes(self._path.read_bytes())
        except (OSError, ValueError):
            return None

    def write(self, wanted: Wanted) -> None:
        """Unless it says so already."""
        data = wanted.to_bytes()
        try:
            if self._path.read_bytes() == data:
                return
        except OSError:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_name(f"{self._path.name}-{uuid.uuid4().hex}")
        new.write_bytes(data)
        os.replace(new, self._path)
