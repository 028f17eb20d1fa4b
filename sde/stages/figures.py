"""The figures of a shard after a batch: what `maintain` and the shard know, for operators."""

from __future__ import annotations

from collections import Counter

from sde.federation.maintain import pending_of
from sde.plugins.shelf import Shelf
from sde.records.figures import (
    MOST_NAMES,
    OTHERS,
    DatasetFigures,
    EngineFigures,
    ShardFigures,
    SiteFigures,
)
from sde.shard.keeper import ShardKeeper
from sde.shard.shard import Shard


def figures_of(shard: Shard, left_out: Counter[str], keeper: ShardKeeper) -> ShardFigures:
    """To be called when the batch is committed; costs a look at each layer and data set."""
    log_bytes, snapshot_bytes = keeper.sizes
    return ShardFigures(
        shard=shard.number,
        rebuilt=keeper.rebuilt,
        log_bytes=log_bytes,
        snapshot_bytes=snapshot_bytes,
        left_out=dict(left_out),
        datasets=_datasets(shard),
        engine=_engine(shard) if shard.number == 0 else None,
    )


def _datasets(shard: Shard) -> dict[str, DatasetFigures]:
    """By name, the first of them; all shards see the same names, so they choose alike."""
    names = shard.datasets
    told = {name: DatasetFigures() for name in names[:MOST_NAMES]}
    for name in names:
        one = told.get(name) or told.setdefault(OTHERS, DatasetFigures())
        size, streams = shard.held(name)
        one.size += size
        one.streams += streams
        if shard.number == 0:
            one.promised += shard.registry.promised(name)
    if shard.number == 0:
        for name, _, time, *_ in shard.registry.watermarks:
            one = told.get(name) or told[OTHERS]  # where a window is, there is a layer
            if time is not None:
                one.watermark = time if one.watermark is None else min(one.watermark, time)
    return told


def _engine(shard: Shard) -> EngineFigures:
    registry = shard.registry
    return EngineFigures(
        synopses=_with_others(registry.by_kind),
        plugins=_states(registry.shelf),
        watches=len(registry.watches),
        watch_due=registry.watches.next_due(),
        sites={
            site: SiteFigures(traffic.received, traffic.sent)
            for site, traffic in pending_of(shard).traffic.items()
        },
    )


def _states(shelf: Shelf) -> dict[str, int]:
    """Versions of plug-ins by state; `waiting`: requests whose plug-in is being examined."""
    states = Counter(shelf.told(version)["state"] for version in shelf.versions.values())
    return {**states, "waiting": len(shelf.waiting)}


def _with_others(counts: Counter[str]) -> dict[str, int]:
    """The most frequent by name, and the sum of the rest."""
    named = dict(counts.most_common(MOST_NAMES))
    rest = counts.total() - sum(named.values())
    return {**named, **({OTHERS: named.get(OTHERS, 0) + rest} if rest else {})}
