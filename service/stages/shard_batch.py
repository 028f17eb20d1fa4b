"""What came for one shard in one micro-batch, through sde.stages.maintain, and what goes on."""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import orjson
import pandas as pd

from sde.records.arrived import Arrived, pack_arrived, unpack_arrived
from sde.records.figures import pack_figures
from sde.records.loop import Report, pack_reports
from sde.records.partial import Partial, bundle
from sde.shard.keeper import Backing, ShardKeeper, new_token
from sde.stages.figures import figures_of
from sde.stages.maintain import SHARD_CODE
from sde.tuples.block import Block
from sde.wire.framing import unpack
from service.stages.exchange import Exchange
from service.stages.ingest import TupleReader
from service.stages.needs_file import NeedsFile
from service.stages.planted_death import meet
from service.stages.rows import (
    BLOCKS,
    FIGURES,
    FILED,
    LETTERS,
    PARTIALS,
    REPORTS,
    REQUESTS,
    ShardRow,
    spread_keys,
)
from service.stages.shard_settings import ShardSettings

_log = logging.getLogger(__name__)


def run_batch(
    number: int, batch: int, rows: Iterable[pd.DataFrame], backing: Backing, settings: ShardSettings
) -> pd.DataFrame:
    """Rows for the next stage: partials, dead letters, reports and figures."""
    arrived, blocks, passing = _read(rows, settings)
    keeper = ShardKeeper(
        settings.arena / f"shard-{number}",
        number,
        settings.wiring.shards,
        settings.wiring.limits,
        backing,
        SHARD_CODE,
        lambda: new_token(batch, uuid.uuid4().hex),
        settings.compact_factor,
    )
    with keeper.opened() as shard:
        stage = settings.wiring.maintain(shard, batch)
        partials = stage.on_batch(arrived, blocks)
        meet("maintain", lambda: _all_bytes(arrived, blocks))
        keeper.commit(stage.entry, batch)
        figures = figures_of(shard, stage.left_out, keeper)
    NeedsFile(settings.arena).write(stage.wanted)
    passing.append((FIGURES, pack_figures(figures)))
    return _frame(partials, passing, stage.reports, settings.buckets)


def _read(
    rows: Iterable[pd.DataFrame], settings: ShardSettings
) -> tuple[list[Arrived], list[Block], list[tuple[str, bytes]]]:
    """Requests in the order of their topics, blocks, and what only passes through."""
    requests: list[tuple[str, int, int, bytes]] = []
    blocks, passing = [], []
    for frame in rows:
        for row in map(ShardRow._make, frame.itertuples(index=False)):
            if row.what in (BLOCKS, FILED):
                blocks += _blocks(row, settings)
            elif row.what == REQUESTS:
                requests.append((row.log, row.partition, row.offset, row.body))
            elif row.what in (LETTERS, FIGURES):
                passing.append((row.what, row.body))
    arrived = [one for *_, body in sorted(requests) for one in unpack_arrived(body)]
    return arrived, blocks, passing


def _blocks(row: ShardRow, settings: ShardSettings) -> list[Block]:
    """What a row stands for; read from Kafka again if files of it are gone."""
    read_again = partial(_read_again, row, settings)
    if row.what == BLOCKS:
        blocks = [Block.from_bytes(one) for one in unpack(row.body)]
    else:
        exchange = Exchange(Path(settings.tuples["exchange"]))
        found = [exchange.take(name) for name in orjson.loads(row.body)]
        blocks = [block for block in found if block is not None]
        if len(blocks) < len(found):
            return read_again()
    return [replace(block, read_again=read_again) for block in blocks]


def _read_again(row: ShardRow, settings: ShardSettings) -> list[Block]:
    _log.info("reading offsets %d to %d of %s again", row.offset, row.end, row.log)
    return TupleReader.with_options(settings.tuples).read_again(row)


def _all_bytes(arrived: list[Arrived], blocks: list[Block]) -> bytes:
    return b"".join([pack_arrived(arrived), *(block.to_bytes() for block in blocks)])


def _frame(
    partials: list[Partial],
    passing: list[tuple[str, bytes]],
    reports: list[Report],
    buckets: int,
) -> pd.DataFrame:
    """All partials for one merging task in one row; everything else goes to the first task."""
    bundles: dict[int, list[Partial]] = defaultdict(list)
    for one in partials:
        bundles[one.subject.bucket(buckets)].append(one)
    keys = spread_keys(buckets)
    rows = [(keys[bucket], PARTIALS, bundle(together)) for bucket, together in bundles.items()]
    rows += [(keys[0], what, body) for what, body in passing]
    if reports:
        rows.append((keys[0], REPORTS, pack_reports(reports)))
    frame = pd.DataFrame(rows, columns=["bucket_key", "what", "body"])
    return frame.astype({"bucket_key": "int32"})
