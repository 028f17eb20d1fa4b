"""A file that says where the next batch ends, instead of the sources.

The engine writes it while it looks for a message that kills (`service.engine.safety_net`); the
sources read it in processes of their own, before each batch.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from service.kafka.offsets import Offsets, from_json, to_json


class EndsFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Offsets | None:
        """None if there is no file: the sources decide."""
        try:
            return from_json(json.loads(self._path.read_text()))
        except FileNotFoundError:
            return None

    def write(self, ends: Offsets) -> None:
        """Replace the file in one step."""
        new = self._path.with_name(f"{self._path.name}-new")
        new.write_text(json.dumps(to_json(ends)))
        os.replace(new, self._path)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
