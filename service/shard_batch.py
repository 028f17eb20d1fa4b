"""What came for one shard in one micro-batch, through sde.stages.maintain, and what goes on."""

from __future__ import annotations

import uuid
import zlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pandas as pd

from sde.arrived import Arrived
from sde.block import Block
from sde.durable import Backing, ShardKeeper
from sde.framing import pack, unpack
from sde.library import Library
from sde.limits import StateLimits
from sde.messages.loop import loop_json
from sde.partial import Partial
from sde.plugins.trust import Trust
from sde.stages.maintain import Maintain
from service.rows import BLOCK, LETTERS, PARTIALS, REPORTS, REQUESTS, spread_keys


@dataclass(frozen=True)
class ShardSettings:
    arena: Path
    shards: int
    buckets: int  # of partials: tasks that merge
    compact_factor: float
    limits: StateLimits
    snapshots: str  # where versions of synopses are kept
    checkpoint: str  # its name
    trust: Trust


def run_batch(
    number: int, batch: int, rows: Iterable[pd.DataFrame], backing: Backing, settings: ShardSettings
) -> pd.DataFrame:
    """Rows for the next stage: partials and dead letters."""
    arrived, blocks, letters = _read(rows)
    keeper = ShardKeeper(
        settings.arena / f"shard-{number}",
        number,
        settings.shards,
        settings.limits,
        backing,
        lambda: uuid.uuid4().hex,
        settings.compact_factor,
    )
    with keeper.opened() as shard:
        stage = Maintain(shard, batch, Library(settings.snapshots), settings.trust)
        partials = stage.on_batch(arrived, blocks)
        keeper.commit(stage.entry, batch)
    reports = [loop_json(report, settings.checkpoint) for report in stage.reports]
    return _frame(partials, letters, reports, settings.buckets)


def _read(rows: Iterable[pd.DataFrame]) -> tuple[list[Arrived], list[Block], list[bytes]]:
    """Requests in the order of their topics, blocks, and letters that only pass through."""
    requests: list[tuple[str, int, int, bytes]] = []
    blocks, letters = [], []
    for frame in rows:
        for row in frame.itertuples(index=False):
            if row.what == BLOCK:
                blocks.append(Block.from_bytes(row.body))
            elif row.what == REQUESTS:
                requests.append((row.topic, row.partition, row.offset, row.body))
            elif row.what == LETTERS:
                letters.append(row.body)
    arrived = [
        Arrived.from_json(orjson.loads(one))
        for *_, body in sorted(requests)
        for one in unpack(body)
    ]
    return arrived, blocks, letters


def _frame(
    partials: list[Partial], letters: list[bytes], reports: list[dict[str, Any]], buckets: int
) -> pd.DataFrame:
    """All partials for one merging task in one row; letters and reports go to the first task."""
    bundles: dict[int, list[bytes]] = defaultdict(list)
    for partial in partials:
        bucket = zlib.crc32(partial.meeting.encode()) % buckets
        bundles[bucket].append(partial.to_bytes())
    keys = spread_keys(buckets)
    rows = [(keys[bucket], PARTIALS, pack(parts)) for bucket, parts in bundles.items()]
    rows += [(keys[0], LETTERS, body) for body in letters]
    if reports:
        rows.append((keys[0], REPORTS, orjson.dumps(reports)))
    frame = pd.DataFrame(rows, columns=["bucket_key", "what", "body"])
    return frame.astype({"bucket_key": "int32"})
