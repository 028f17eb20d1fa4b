"""Bytes from the process in which Spark commits a batch to that of `sde serve`: a file each batch.

Both are processes of the driver's machine, and have no other way to each other. Nothing is lost
that counts if such a file is: it holds figures for operators.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from sde.wire.framing import FramingError, pack, unpack

_MOST_FILES = 1000  # that nobody took: then no more are written
_log = logging.getLogger(__name__)


class Handover:
    """One process calls `put`, the other `take`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, batch: int, bodies: list[bytes]) -> None:
        """What a batch hands over; an error of the disk is logged, the batch goes on."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if len(os.listdir(self._folder)) >= _MOST_FILES:
                return
            new = self._folder / f".{batch}"
            new.write_bytes(pack(bodies))
            new.replace(self._folder / str(batch))
        except OSError as error:
            _log.warning("the figures of batch %d are lost: %s", batch, error)

    def take(self) -> list[tuple[int, list[bytes]]]:
        """The batches that came since the last call, the oldest first."""
        taken = []
        for path in self._waiting():
            try:
                taken.append((int(path.name), unpack(path.read_bytes())))
            except (OSError, FramingError) as error:
                _log.warning("%s: %s", path, error)
            path.unlink(missing_ok=True)
        return taken

    def clear(self) -> None:
        """Forget what an earlier run left."""
        for path in self._waiting():
            path.unlink(missing_ok=True)

    def _waiting(self) -> list[Path]:
        numbers = [int(path.name) for path in self._folder.glob("*") if path.name.isdigit()]
        return [self._folder / str(number) for number in sorted(numbers)]
