"""The folders of an engine: only the user that runs it may look into them.

They hold its secret, its state and its users' data. What is in them is as safe as they are, so the
files inside need no rights of their own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from service.settings import Settings

_OWNER_ONLY = 0o700


def make_private(settings: Settings) -> Iterator[str]:
    """Make the folders that are missing and close those of ours; lines about what was found.

    Those that Kafka and the snapshots' file system would make come from here, too: they would be
    open to others.
    """
    data = settings.data_dir
    is_ours = not data.exists() or not any(data.iterdir()) or settings.checkpoint.exists()
    yield from _make(data, is_ours)
    yield from _make(settings.checkpoint)
    yield from _make(settings.arena_folder)
    yield from _make(data / "logs")
    is_used = {"broker": not settings.bootstrap_servers, "snapshots": not settings.snapshots}
    for name, used in is_used.items():
        if used or (data / name).exists():  # or left by an earlier run with other settings
            yield from _make(data / name)


def _make(folder: Path, is_ours: bool = True) -> Iterator[str]:
    """`is_ours`: an engine runs in it, or nothing is there yet."""
    folder.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
    found = folder.stat()
    if not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return
    if is_ours and found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX:
        folder.chmod(_OWNER_ONLY)
        yield f"{folder} was open to other users of this machine, and is not any more"
    else:
        mode = stat.filemode(found.st_mode)
        yield f"warning: {folder} ({mode}) is open to other users of this machine: chmod 700 it"
