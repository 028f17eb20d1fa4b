"""Folders that one engine at a time may use, whichever Kafka it has."""

from __future__ import annotations

from contextlib import ExitStack

from service.broker.folder_lock import FolderLock
from service.settings import Settings


def lock_folders(settings: Settings) -> ExitStack:
    """Take the locks; BrokerError names the process that has one. Closing the result frees them.

    Two engines in one folder would write one checkpoint, and delete each other's arena.
    """
    with ExitStack() as locks:
        locks.callback(FolderLock(settings.data_dir, "engine").release)
        arena = settings.arena_dir
        if arena is not None:  # it is deleted when the engine stops
            beside = arena.absolute().with_name(f"{arena.name}.lock")
            locks.callback(FolderLock(arena, "engine", beside, "arena_dir").release)
        return locks.pop_all()
