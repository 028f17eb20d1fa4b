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
from sde.decoding.assembly import assemble
from sde.decoding.frame_reader import ENVELOPE, Frame, read_frame
from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.plain import EARLIEST, LATEST, TIME_EXPECTED
from sde.decoding.routing import Group, Routes, Spans, route
from sde.tuples.block import Block
from sde.tuples.column import Coded, Column
from sde.tuples.needs import NeedsByDataset
from sde.wire.faults import Code, Fault, Refusal
from synopses.texts import Texts

_OFFSET_ROOM = 1 << 32  # a block counts offsets from its first in 32 bits


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
        blocks += _Tuples(messages, alike, limits, letters).blocks(shards, wanted)
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
    return bool(same and distance < _OFFSET_ROOM)


class _Tuples:
    """The rows of frames that are alike, one after the other.

    Made for one call of `blocks`, which refuses rows and drops them from the arrays.
    """

    def __init__(self, messages: Messages, alike: _Alike, limits: Limits, letters: Letters) -> None:
        self._messages, self._limits, self._letters = messages, limits, letters
        sizes = [len(table) for table in alike.tables]
        self._message_of = np.repeat(np.array(alike.messages, np.int64), sizes)
        self._lines = np.concatenate([np.arange(size) for size in sizes])
        self._sent = alike.sent
        table = pa.concat_tables(alike.tables)
        self._columns = {
            name: to_column(column.combine_chunks())
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
        self._datasets = self._one_dataset(alike.dataset)
        self._streams = self._names("stream")
        self._times = messages.timestamps.take(self._message_of)
        self._refused = np.zeros(len(self._lines), np.bool_)

    def blocks(self, shards: int, wanted: NeedsByDataset | None) -> list[Block]:
        """A block for each data set and shard among the rows that are not refused."""
        if "dataset" in self._columns:
            self._check_names("dataset", self._datasets)
        self._check_names("stream", self._streams)
        self._check_times()
        if self._refused.any():
            rows = np.flatnonzero(~self._refused)
            if not len(rows):
                return []
            self._columns = {name: column.take(rows) for name, column in self._columns.items()}
            self._datasets, self._streams = self._datasets.take(rows), self._streams.take(rows)
            self._times, self._lines = self._times[rows], self._lines[rows]
            self._message_of = self._message_of[rows]
        routes = route(self._datasets, self._streams, shards, wanted)
        return assemble(
            self._messages,
            routes,
            [self._fields(routes, group, wanted) for group in routes.groups],
            self._times,
            self._message_of,
            self._lines,
            wanted,
        )

    def _fields(
        self, routes: Routes, group: Group, wanted: NeedsByDataset | None
    ) -> dict[str, Column]:
        own = routes.order[group.start : group.end]
        names = self._columns.keys() - ENVELOPE
        if wanted is not None:
            names &= wanted.of(group.dataset).fields
        fields = {name: c.take(own) for name, c in self._columns.items() if name in names}
        return {n: c for n, c in fields.items() if c.valid is None or c.valid.any()}

    def _one_dataset(self, dataset: str | None) -> Spans | Coded:
        if dataset is None:
            return self._names("dataset")
        return Coded(Texts.of([dataset]), np.zeros(len(self._lines), np.int32))

    def _names(self, name: str) -> Spans | Coded:
        column = self._columns[name]
        return column.data if isinstance(column.data, Coded) else Spans.of(column.texts())

    def _check_names(self, name: str, names: Spans | Coded) -> None:
        valid = self._columns[name].valid
        if isinstance(names, Coded):
            spans = Spans.of(names.texts)
            if valid is None and self._fit(spans).all():
                return
            spans = spans.take(names.codes.astype(np.int64))
        else:
            spans = names
        missing = np.zeros(len(spans), np.bool_) if valid is None else ~valid
        most = self._limits.max_name
        for row in np.flatnonzero(missing | ~self._fit(spans)).tolist():
            text = spans.buffer[spans.starts[row] : spans.ends[row]].tobytes().decode()
            if missing[row] or not 0 < len(text) <= most:
                shown = "null" if missing[row] else repr(text[:80])
                expected = f"a text of 1 to {most} characters"
                self._refuse(row, name, f"{name}={shown}: expected {expected}")

    def _fit(self, spans: Spans) -> NDArray[np.bool_]:
        """Which names are neither empty nor, in bytes, longer than a name may be."""
        sizes = spans.ends - spans.starts
        fits: NDArray[np.bool_] = (sizes > 0) & (sizes <= self._limits.max_name)
        return fits

    def _check_times(self) -> None:
        column = self._columns.get("time")
        if column is None:
            return
        times = column.data
        assert isinstance(times, np.ndarray)
        if column.valid is None and times.min() >= EARLIEST and times.max() <= LATEST:
            self._times = times.astype(np.int64, copy=False)
            return
        wrong = (times < EARLIEST) | (times > LATEST)
        valid = np.ones(len(times), np.bool_) if column.valid is None else column.valid
        self._times = np.where(valid, times, self._times)
        for row in np.flatnonzero(wrong & valid).tolist():
            self._refuse(row, "time", f"time={times[row]}: expected {TIME_EXPECTED}")

    def _refuse(self, row: int, name: str, text: str) -> None:
        """The row becomes a dead letter, once; its excerpt is the row as JSON."""
        if self._refused[row]:
            return
        self._refused[row] = True
        message, line = int(self._message_of[row]), int(self._lines[row])
        shown = None
        if self._letters.room(message):
            shown = as_sent(self._sent[message], line)
        fault = Fault(Code.BAD_TUPLE, text, name)
        self._letters.refuse(message, line, fault, orjson.dumps(shown, default=str))
