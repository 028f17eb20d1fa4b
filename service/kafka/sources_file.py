"""Files with the sources of an engine, one for each version of the set, in its checkpoint.

A thread beside the query writes a version when the shards have decided it; the process that plans
batches reads the newest. The offsets of a batch name its version: a batch that is planned again, or
replayed, decodes with the mappings it was planned with.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import msgspec

from sde.records.sources import SourceSet

_KEPT = 100  # versions: far more than batches that may run again


class SourcesFile:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: tuple[int, SourceSet] = (-1, SourceSet())  # when the folder changed, and then

    def current(self) -> SourceSet:
        """The newest version; without sources if there is none. Called many times a second."""
        try:
            changed = os.stat(self._folder).st_mtime_ns
        except FileNotFoundError:
            return SourceSet()
        if changed != self._seen[0]:
            versions = self._versions()
            self._seen = changed, self.read(versions[-1]) if versions else SourceSet()
        return self._seen[1]

    def read(self, version: int) -> SourceSet:
        """The version that a batch was planned with."""
        if not version:
            return SourceSet()
        return msgspec.json.decode(self._path(version).read_bytes(), type=SourceSet)

    def write(self, sources: SourceSet) -> None:
        """Durable when it returns; a version that is there stays as it is."""
        if self._path(sources.version).exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        new = self._folder / f".new-{uuid.uuid4().hex}"
        with new.open("wb") as file:
            file.write(msgspec.json.encode(sources))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path(sources.version))
        folder = os.open(self._folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        for version in self._versions()[:-_KEPT]:
            self._path(version).unlink(missing_ok=True)

    def _path(self, version: int) -> Path:
        return self._folder / f"{version}.json"

    def _versions(self) -> list[int]:
        names = (path.stem for path in self._folder.glob("*.json"))
        return sorted(int(name) for name in names if name.isdecimal())
