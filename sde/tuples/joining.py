"""Blocks of one log that follow each other become one: what a layer costs for each block, it then
costs once, and the distinct keys of many tuples are fewer than those of their parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.tuples.block import OFFSET_ROOM, Block
from sde.tuples.column import Coded, Column
from synopses.texts import Texts

_MOST_TUPLES = 1 << 20  # of a block that was joined: it is a batch's share of memory


def joined(blocks: Iterable[Block]) -> list[Block]:
    """The same tuples in as few blocks as they fit in; those of a log stay in order."""
    runs: list[list[Block]] = []
    latest: dict[tuple[Any, ...], list[Block]] = {}  # by origin: data sets share logs
    for block in blocks:
        run = latest.get(_origin(block))
        if run is not None and _fits(run, block):
            run.append(block)
        else:
            runs.append([block])
            latest[_origin(block)] = runs[-1]
    return [_join(run) if len(run) > 1 else run[0] for run in runs]


def _fits(run: list[Block], block: Block) -> bool:
    """Whether a block can be joined to others: what is kept of it is kept in the same form."""
    first = run[0]
    return (
        _form(first) == _form(block)
        and 0 <= block.base - first.base < OFFSET_ROOM - _extent(block)
        and sum(map(len, run)) + len(block) <= _MOST_TUPLES
    )


def _origin(block: Block) -> tuple[Any, ...]:
    return block.dataset, block.shard, block.topic, block.partition, block.removes


def _form(block: Block) -> tuple[Any, ...]:
    kinds = {
        name: column.data.dtype if isinstance(column.data, np.ndarray) else type(column.data)
        for name, column in block.fields.items()
    }
    return kinds, len(block.times) > 0, len(block.offsets) > 0


def _extent(block: Block) -> int:
    """How far its last offset is from its base."""
    return int(block.offsets.max()) if len(block.offsets) else 0


def _join(run: Sequence[Block]) -> Block:
    first = run[0]
    streams = Texts.concatenated([block.streams for block in run])
    hashes = np.concatenate([block.stream_hashes for block in run])
    numbers, kept = _numbered(hashes)
    before = np.cumsum([0, *(len(block.streams) for block in run)])
    places = [
        numbers[start + block.stream_of] for start, block in zip(before[:-1], run, strict=True)
    ]
    offsets = [block.offsets + np.uint32(block.base - first.base) for block in run]
    arrivals = lines = None
    if any(block.arrivals is not None for block in run):
        arrivals = np.concatenate(
            [block.times if block.arrivals is None else block.arrivals for block in run]
        )
    if any(block.lines is not None for block in run):
        lines = np.concatenate(
            [
                np.zeros(len(block.offsets), np.uint32) if block.lines is None else block.lines
                for block in run
            ]
        )
    return replace(
        first,
        streams=streams.take(kept),
        stream_hashes=hashes[kept],
        stream_of=np.concatenate(places),
        times=np.concatenate([block.times for block in run]),
        arrivals=arrivals,
        offsets=np.concatenate(offsets),
        lines=lines,
        fields={name: _column([block.fields[name] for block in run]) for name in first.fields},
        read_again=None,
        _cache={},
    )


def _numbered(hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The number of each hash in order of first appearance, and where each appears first."""
    _, firsts, which = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return number[which], firsts[order]


def _column(columns: Sequence[Column]) -> Column:
    valid = None
    if any(column.valid is not None for column in columns):
        valid = np.concatenate(
            [
                np.ones(len(column), np.bool_) if column.valid is None else column.valid
                for column in columns
            ]
        )
    return Column(_data([column.data for column in columns]), valid)


def _data(parts: Sequence[Any]) -> Any:
    """Values that are all kept in the same form."""
    if isinstance(parts[0], Texts):
        return Texts.concatenated(parts)
    if isinstance(parts[0], Coded):
        before = np.cumsum([0, *(len(part.texts) for part in parts)])[:-1].astype(np.int32)
        codes = [start + part.codes for start, part in zip(before, parts, strict=True)]
        return Coded(Texts.concatenated([p.texts for p in parts]), np.concatenate(codes))
    return np.concatenate(parts)
