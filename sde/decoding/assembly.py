"""Blocks from routed tuples and their columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sde.decoding.messages import Messages
from sde.decoding.routing import Routes
from sde.tuples.block import Block
from sde.tuples.column import Column
from sde.tuples.needs import NeedsByDataset


def assemble(
    messages: Messages,
    routes: Routes,
    columns: list[dict[str, Column]],
    times: NDArray[np.int64],
    message_of: NDArray[np.int64],
    lines: NDArray[np.int64],
    wanted: NeedsByDataset | None,
    *,
    removes: bool = False,
) -> list[Block]:
    """One block for each group; times, messages (by index) and lines are those of the tuples.

    `columns` are those of each group, in its order. What is not wanted is left empty.
    """
    blocks = []
    for group, fields in zip(routes.groups, columns, strict=True):
        own = routes.order[group.start : group.end]
        needs = None if wanted is None else wanted.of(group.dataset)
        if needs is not None:
            fields = {name: fields[name] for name in fields if name in needs.fields}
        has_times, has_ids = (True, True) if needs is None else (needs.times, needs.ids)
        timed, placed = own if has_times else own[:0], own if has_ids else own[:0]
        arrivals, own_times = messages.timestamps[message_of[timed]], times[timed]
        own_lines = lines[placed].astype(np.uint32)
        # Tuples keep their order, so that the first has the smallest offset.
        base = int(messages.offsets[message_of[own[0]]])
        block = Block(
            dataset=group.dataset,
            shard=group.shard,
            topic=messages.topic,
            partition=messages.partition,
            base=base,
            streams=group.streams,
            stream_hashes=group.stream_hashes,
            stream_of=routes.stream_of.take(own),
            times=own_times,
            offsets=(messages.offsets[message_of[placed]] - base).astype(np.uint32),
            lines=own_lines if own_lines.any() else None,
            fields=fields,
            arrivals=None if np.array_equal(own_times, arrivals) else arrivals,
            line=int(lines[own[0]]),
            removes=removes,
            kept=needs,
        )
        blocks.append(block)
    return blocks
