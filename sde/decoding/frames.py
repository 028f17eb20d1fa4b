"""Arrow frames: a message that is an Arrow IPC stream, each row of it a tuple.

Column `stream` (text) is needed; `time` (milliseconds or timestamps) is optional; the data set is
a column `dataset`, or the schema's metadata has it under that key. Every other column is a field.
A frame that cannot be read, or has a column that cannot be one, is refused whole; a row without
stream, data set or a proper time is refused alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from sde.decoding.arrow_columns import as_sent, to_column
from sde.decoding.frame_reader import ENVELOPE, Frame, read_frame
from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.tuple_columns import TupleColumns
from sde.tuples.block import OFFSET_ROOM, Block
from sde.tuples.needs import NeedsByDataset
from sde.wire.faults import Refusal


@dataclass(slots=True)
class _Alike:
    """Consecutive frames with the same columns, which are decoded together."""

    dataset: str | None
    tables: list[pa.Table] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    sent: dict[int, pa.Table] = field(default_factory=dict)  # tables as they were sent, by message


def decode_frames(
    messages: Messages,
    which: NDArray[np.int64],
    shards: int,
    limits: Limits,
    letters: Letters,
    wanted: NeedsByDataset | None,
) -> list[Block]:
    """The blocks of the messages `which`, all of them Arrow frames."""
    blocks: list[Block] = []
    fields = None if wanted is None else wanted.fields
    for alike in _alike(messages, which, limits, letters, fields):
        blocks += _tuples(messages, alike, limits, letters).blocks(shards, wanted)
    return blocks


def _alike(
    messages: Messages,
    which: NDArray[np.int64],
    limits: Limits,
    letters: Letters,
    fields: frozenset[str] | None,
) -> Iterator[_Alike]:
    """Runs of frames; one that cannot be read becomes a dead letter."""
    run: _Alike | None = None
    for i in which.tolist():
        payload = messages.buffer[messages.starts[i] : messages.ends[i]]
        try:
            frame = read_frame(payload, limits, fields)
        except Refusal as refusal:
            letters.refuse(i, 0, refusal.fault, payload.tobytes())
            continue
        if not len(frame.table):
            continue
        if run is not None and not _belongs(frame, i, run, messages):
            yield run
            run = None
        run = run or _Alike(frame.dataset)
        run.tables.append(frame.table)
        run.messages.append(i)
        run.sent[i] = frame.sent
    if run is not None:
        yield run


def _belongs(frame: Frame, message: int, run: _Alike, messages: Messages) -> bool:
    """Whether a frame can be decoded together with those of the run."""
    distance = messages.offsets[message] - messages.offsets[run.messages[0]]
    same = frame.dataset == run.dataset and frame.table.schema == run.tables[0].schema
    return bool(same and distance < OFFSET_ROOM)


def _tuples(messages: Messages, alike: _Alike, limits: Limits, letters: Letters) -> TupleColumns:
    """The rows of frames that are alike, one after the other."""
    sizes = [len(table) for table in alike.tables]
    table = pa.concat_tables(alike.tables)
    columns = {
        name: to_column(column.combine_chunks())
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return TupleColumns(
        messages,
        limits,
        letters,
        dataset=alike.dataset or columns["dataset"],
        streams=columns["stream"],
        times=columns.get("time"),
        fields={name: column for name, column in columns.items() if name not in ENVELOPE},
        message_of=np.repeat(np.array(alike.messages, np.int64), sizes),
        lines=np.concatenate([np.arange(size) for size in sizes]),
        excerpt=lambda m, line: orjson.dumps(as_sent(alike.sent[m], line), default=str),
    )
