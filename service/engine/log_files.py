"""The files that an engine and its processes write lines to: none grows for ever.

Spark's own log is not among them: log4j bounds it.
"""

from __future__ import annotations

import os
from pathlib import Path

from service.settings import Settings

LARGEST = 16 << 20  # bytes of a file, and of the one that keeps what was before


class LogFiles:
    """Call `bound` several times a minute, while others write.

    All of them are open for appending in other processes or threads, which go on with the same
    file. So a file is not renamed: its end is copied to `NAME.1`, and it is cut to nothing. A line
    that is written in that moment may be lost.
    """

    def __init__(self, settings: Settings) -> None:
        folder = settings.data_dir.absolute()
        logs = folder / "logs"
        self._paths = [
            *(logs / name for name in ("batches.jsonl", "plugins.log", "spark.out")),
            folder / "broker" / "broker.log",
        ]

    def bound(self) -> None:
        for path in self._paths:
            try:
                size = path.stat().st_size
            except FileNotFoundError:
                continue
            if size > LARGEST:
                _set_aside(path, size)


def _set_aside(path: Path, size: int) -> None:
    before = path.with_name(f"{path.name}.1")
    try:
        with path.open("rb") as file:
            file.seek(size - LARGEST)
            file.readline()  # a part of one
            before.write_bytes(file.read(LARGEST))
    except OSError:  # a full disk: room matters more than old lines
        before.unlink(missing_ok=True)
    os.truncate(path, 0)
