"""Blocks from routed tuples and their columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sde.block import Block
from sde.column import Column
from sde.decoding.messages import Messages
from sde.decoding.routing import Routes


def assemble(
    messages: Messages,
    routes: Routes,
    columns: list[dict[str, Column]],
    times: NDArray[np.int64],
    message_of: NDArray[np.int64],
    lines: NDArray[np.int64],
) -> list[Block]:
    """One block for each group; times, messages (by index) and lines are those of the tuples."""
    order = routes.order
    stream_of, times, message_of = routes.stream_of[order], times[order], message_of[order]
    offsets, arrivals = messages.offsets[message_of], messages.timestamps[message_of]
    all_arrived = np.array_equal(times, arrivals)
    all_lines = lines[order].astype(np.uint32) if lines.any() else None
    blocks = []
    for group, fields in zip(routes.groups, columns, strict=True):
        own = slice(group.start, group.end)
        base = offsets[own].min()
        block = Block(
            dataset=group.dataset,
            shard=group.shard,
            topic=messages.topic,
            partition=messages.partition,
            base=int(base),
            streams=group.streams,
            stream_hashes=group.stream_hashes,
            stream_of=stream_of[own],
            times=times[own],
            offsets=(offsets[own] - base).astype(np.uint32),
            lines=None if all_lines is None or not all_lines[own].any() else all_lines[own],
            fields=fields,
            arrivals=None if all_arrived else arrivals[own],
        )
        blocks.append(block)
    return blocks
