"""Messages become blocks: the way of the data through ingest.

    messages ─┬─ too large ──────────────────────────────────────────────> letters
              ├─ Arrow frames ──── frames ────────────┐
              └─ text ── rows ── segments ── columns ─┴─ routing ── assembly ──> blocks

A message's form is told by its first bytes. An empty message (a tombstone) and blank lines carry
nothing and are passed over. What is refused becomes a dead letter with the reason; everything
else goes on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sde.decoding.assembly import assemble
from sde.decoding.columns import Groups, build_columns
from sde.decoding.decoded import Decoded, taken
from sde.decoding.frames import decode_frames
from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.pool import TextPool
from sde.decoding.routing import Spans, route
from sde.decoding.segments import Segments
from sde.decoding.sizes import sizes_checked
from sde.kernels.lines import starting_with
from sde.tuples.block import Block
from sde.tuples.needs import NeedsByDataset

_FRAME_START = np.array([255, 255, 255, 255], np.uint8)


def decode_tuples(
    messages: Messages, shards: int, limits: Limits, wanted: NeedsByDataset | None = None
) -> Decoded:
    """The tuples of all messages, as one block or more for each data set and shard among them.

    `wanted` is what is kept of them (None: everything); it does not change what is refused. The
    data sets that are not in it share a block for each shard. Never raises because of what a
    message holds.

    >>> row = b'{"dataset": "Forex", "stream": "EURUSD", "values": {"price": 1.1}}'
    >>> one = np.zeros(1, np.int64)
    >>> buffer = np.frombuffer(row + b"\\n", np.uint8)
    >>> messages = Messages("topic", 0, buffer, one, one + len(row), one, one)
    >>> (block,) = decode_tuples(messages, shards=1, limits=Limits()).blocks
    >>> block.dataset, block.streams[0], block.numbers("price").tolist()
    ('Forex', 'EURUSD', [1.1])
    """
    if wanted is not None and len(wanted.fields) > limits.max_fields:
        wanted = None  # more than the scanner tells apart
    letters = Letters(messages, limits)
    pool = TextPool(messages.buffer)
    blocks: list[Block] = []
    of_form: dict[str, list[Block]] = {"arrow": [], "json": []}
    checked = sizes_checked(messages, limits, letters)
    # Forms seldom change from message to message: what has one form goes through together.
    is_frame = np.empty(len(checked), np.bool_)
    starting_with(pool.array, messages.starts, messages.ends, checked, _FRAME_START, is_frame)
    changes = np.flatnonzero(np.diff(is_frame)) + 1
    for own, run in zip(np.split(is_frame, changes), np.split(checked, changes), strict=True):
        if not len(run):
            continue
        if own[0]:
            form, found = "arrow", decode_frames(messages, run, shards, limits, letters, wanted)
        else:
            form = "json"
            found = _decode_text(messages, run, pool, shards, limits, letters, wanted)
        blocks += found
        of_form[form] += found
    which = {"arrow": checked[is_frame], "json": checked[~is_frame]}
    sizes = [taken(form, messages, which[form], of_form[form]) for form in which]
    return Decoded(blocks, letters.sorted(), [one for one in sizes if one.messages])


def _decode_text(
    messages: Messages,
    which: NDArray[np.int64],
    pool: TextPool,
    shards: int,
    limits: Limits,
    letters: Letters,
    wanted: NeedsByDataset | None,
) -> list[Block]:
    """The blocks of the messages `which`, all of them text."""
    blocks: list[Block] = []
    for segment in Segments(pool, messages, which, limits, letters, wanted):
        spans = segment.spans
        datasets, streams = (Spans(pool.array, spans[i], spans[i + 1]) for i in (0, 2))
        routes = route(datasets, streams, shards, wanted)
        sizes = np.array([group.end - group.start for group in routes.groups], np.int64)
        groups = Groups(routes.group_of, routes.place_of, sizes)
        columns = build_columns(segment.values, groups, pool)
        places = (segment.times, segment.message_of, segment.lines)
        blocks += assemble(messages, routes, columns, *places, wanted)
    return blocks
