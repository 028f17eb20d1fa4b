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
_INSIDE = ("logs", "checkpoint", "broker", "snapshots")  # of data_dir


def make_private(settings: Settings) -> Iterator[str]:
    """Make the folders that are missing and close those of ours; lines about what was found."""
    data = settings.data_dir
    is_ours = not data.exists() or not any(data.iterdir()) or settings.checkpoint.exists()
    yield from _make(data, is_ours)
    for folder in (settings.checkpoint, settings.arena_folder, data / "logs"):
        yield from _make(folder)
    for folder in (data / name for name in _INSIDE):
        if folder.exists():
            yield from _make(folder)


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
