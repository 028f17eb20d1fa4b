"""What `sources` shows: mappings, how many records became dead letters, topics not there yet."""

from __future__ import annotations

from sde.records.arrived import FromSource
from sde.records.result import Done
from sde.registry.source_counts import SourceCounts
from sde.requests.warnings import topic_warnings
from sde.shard.shard import Shard
from sde.storage.facts import Factual
from sde.wire import message_of


def beside(number: int) -> dict[str, Factual]:
    """What a shard keeps of sources beside the registry, by its name in the store."""
    return {"source_counts": SourceCounts()} if number == 0 else {}


def note_refused(shard: Shard, arrived: FromSource) -> None:
    """Count dead letters of a source; for shard 0 only.

    Those of a mapping that was changed meanwhile are not counted: a batch is read with the mappings
    it was planned with.
    """
    sources = shard.registry.sources.current
    read = sources.find(arrived.source)
    if read is not None and read.changed == arrived.changed:
        counts = _counts_of(shard)
        counts.keep_only(sources)
        counts.add(arrived.source, arrived.changed, arrived.refused)


def list_sources(shard: Shard, topics: list[str] | None) -> Done:
    """From shard 0, for all; `topics` are those that there are, if that is known."""
    if shard.number != 0:
        return Done()
    counts, listed = _counts_of(shard), []
    for one in shard.registry.sources.current.sources:
        fields = {**message_of(one.source), "dead_letters": counts.of(one)}
        warnings = topic_warnings(one.source, topics)
        listed.append({**fields, "warnings": warnings} if warnings else fields)
    return Done(value=listed)


def _counts_of(shard: Shard) -> SourceCounts:
    counts = shard.beside["source_counts"]
    assert isinstance(counts, SourceCounts)
    return counts
