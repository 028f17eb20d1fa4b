"""The sources of an engine: the same in every shard, changed by requests."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from sde.records.sources import ReadSource, SourceSet
from sde.storage.facts import Fact
from sde.wire import Code, Refusal
from sde.wire.sources import Source

_MOST = 1_000
_MOST_BYTES = 1 << 20  # of all definitions: they travel together


class SourceBook:
    """Kept by the registry, whose facts ("sources") it makes and applies."""

    def __init__(self) -> None:
        self.current = SourceSet()

    def apply(self, record: object) -> None:
        """A fact that `with_source` or `without` made: the whole set, which is small."""
        self.current = msgspec.convert(record, SourceSet)

    def facts(self) -> list[Fact]:
        return [["sources", msgspec.to_builtins(self.current)]] if self.current.version else []

    def with_source(self, wanted: Source, time: int) -> SourceSet:
        """The set with one more source, or one changed; Refusal if there are too many.

        A source that is known goes on where it is, unless it is to begin elsewhere than it did. One
        that is known as it is changes nothing.
        """
        version = self.current.version + 1
        known = self.current.find(wanted.name)
        source = replace(wanted, id="")
        since, at = version, time
        if known is not None:
            if source.start is None:
                source = replace(source, start=known.source.start)
            if source == known.source:
                return self.current
            if (source.topic, source.start) == (known.source.topic, known.source.start):
                since, at = known.since, known.at
        others = [one for one in self.current.sources if one.source.name != wanted.name]
        sources = [*others, ReadSource(source, since, at, version)]
        if len(sources) > _MOST or len(msgspec.json.encode(sources)) > _MOST_BYTES:
            raise Refusal(
                Code.LIMIT_EXCEEDED,
                f"there are {len(others)} sources: at most {_MOST:,} of {_MOST_BYTES:,} bytes "
                "together are kept; remove one first",
            )
        return SourceSet(version=version, sources=sources)

    def without(self, name: str) -> SourceSet:
        """The set without one source; Refusal if there is none of that name."""
        if self.current.find(name) is None:
            raise Refusal(
                Code.UNKNOWN_SOURCE, f"name={name[:80]!r}: expected the name of a source", "name"
            )
        left = [one for one in self.current.sources if one.source.name != name]
        return SourceSet(version=self.current.version + 1, sources=left)
