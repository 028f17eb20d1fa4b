"""Which sources are read: what the shards decide, and the planning of batches goes by."""

from __future__ import annotations

from msgspec import Struct

from sde.wire.sources import Source


class ReadSource(Struct, frozen=True):
    """A source, and the version of the set that it begins with, at its `from`.

    `at`: when that was asked, in ms; "latest" is what comes from then on. `changed`: the version of
    the set that it has its mapping since.
    """

    source: Source
    since: int
    at: int
    changed: int = 0


class SourceSet(Struct, frozen=True, kw_only=True):
    """All sources as of one version; a batch is planned, and replayed, with one version."""

    version: int = 0
    sources: list[ReadSource] = []

    def find(self, name: str) -> ReadSource | None:
        return next((one for one in self.sources if one.source.name == name), None)
