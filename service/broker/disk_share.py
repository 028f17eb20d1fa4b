"""How much of a disk the embedded broker's data may take."""

from __future__ import annotations

import shutil
from pathlib import Path

_OTHER_TOPICS = 6  # requests, output, dead letters, log, and what Kafka keeps for itself
_FEWEST = 64 << 20  # bytes of a partition: two of the smallest segments


def partition_bytes(folder: Path, most: int, data_partitions: int) -> int:
    """What each partition may have so that all together have at most `most` bytes.

    `most` of 0: half of the disk space that is free, where the broker's own data counts as free.
    """
    if not most:
        own = sum(path.stat().st_size for path in _files(folder))
        most = (shutil.disk_usage(_existing(folder)).free + own) // 2
    return max(_FEWEST, most // (data_partitions + _OTHER_TOPICS))


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.log") if path.is_file()]


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())
