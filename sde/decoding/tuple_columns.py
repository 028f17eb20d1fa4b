"""Tuples whose parts stand in columns become blocks: those of Arrow frames and of sources."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sde.decoding.assembly import assemble
from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.plain import EARLIEST, LATEST, TIME_EXPECTED
from sde.decoding.routing import Group, Routes, Spans, route
from sde.tuples.block import Block
from sde.tuples.column import Coded, Column
from sde.tuples.needs import NeedsByDataset
from sde.tuples.times import NO_TIME
from sde.wire.faults import Code, Fault
from synopses.texts import Texts


class TupleColumns:
    """Made for one call of `blocks`; rows that are refused before or by it are dropped.

    `dataset` is one for all rows, or a column. Rows without a time have that of their message, but
    if they are to be removed none: it is not when they were added. `excerpt` gives what a dead
    letter shows of a line of a message.
    """

    def __init__(
        self,
        messages: Messages,
        limits: Limits,
        letters: Letters,
        *,
        dataset: str | Column,
        streams: Column,
        times: Column | None,
        fields: dict[str, Column],
        message_of: NDArray[np.int64],
        lines: NDArray[np.int64],
        excerpt: Callable[[int, int], bytes],
        removes: bool = False,
    ) -> None:
        self._messages, self._limits, self._letters = messages, limits, letters
        self._message_of, self._lines, self._excerpt = message_of, lines, excerpt
        self._fields, self._time_column, self._removes = fields, times, removes
        self._times = (
            np.full(len(lines), NO_TIME) if removes else messages.timestamps.take(message_of)
        )
        self._refused = np.zeros(len(lines), np.bool_)
        self._datasets = self._one_or_each(dataset)
        self._streams = self._checked("stream", streams)

    def blocks(self, shards: int, wanted: NeedsByDataset | None) -> list[Block]:
        """A block for each data set and shard among the rows that are not refused."""
        self._check_times()
        if self._refused.any():
            rows = np.flatnonzero(~self._refused)
            if not len(rows):
                return []
            self._fields = {name: column.take(rows) for name, column in self._fields.items()}
            self._datasets, self._streams = self._datasets.take(rows), self._streams.take(rows)
            self._times, self._lines = self._times[rows], self._lines[rows]
            self._message_of = self._message_of[rows]
        routes = route(self._datasets, self._streams, shards, wanted)
        return assemble(
            self._messages,
            routes,
            [self._fields_of(routes, group, wanted) for group in routes.groups],
            self._times,
            self._message_of,
            self._lines,
            wanted,
            removes=self._removes,
        )

    def refuse(self, row: int, name: str, text: str) -> None:
        """The row becomes a dead letter, once, that names one part of it."""
        if self._refused[row]:
            return
        self._refused[row] = True
        message, line = int(self._message_of[row]), int(self._lines[row])
        shown = self._excerpt(message, line) if self._letters.room(message) else b""
        self._letters.refuse(message, line, Fault(Code.BAD_TUPLE, text, name), shown)

    def _fields_of(
        self, routes: Routes, group: Group, wanted: NeedsByDataset | None
    ) -> dict[str, Column]:
        own = routes.order[group.start : group.end]
        read = None if wanted is None else wanted.of(group.dataset).fields
        names = [name for name in self._fields if read is None or name in read]
        fields = {name: self._fields[name].take(own) for name in names}
        return {n: c for n, c in fields.items() if c.valid is None or c.valid.any()}

    def _one_or_each(self, dataset: str | Column) -> Spans | Coded:
        if isinstance(dataset, Column):
            return self._checked("dataset", dataset)
        return Coded(Texts.of([dataset]), np.zeros(len(self._lines), np.int32))

    def _checked(self, name: str, column: Column) -> Spans | Coded:
        """The names in a column; rows whose name cannot be one are refused."""
        data, valid = column.data, column.valid
        names = data if isinstance(data, Coded) else Spans.of(column.texts())
        if isinstance(names, Coded):
            spans = Spans.of(names.texts)
            if valid is None and self._fit(spans).all():
                return names
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
                self.refuse(row, name, f"{name}={shown}: expected {expected}")
        return names

    def _fit(self, spans: Spans) -> NDArray[np.bool_]:
        """Which names are neither empty nor, in bytes, longer than a name may be."""
        sizes = spans.ends - spans.starts
        fits: NDArray[np.bool_] = (sizes > 0) & (sizes <= self._limits.max_name)
        return fits

    def _check_times(self) -> None:
        column = self._time_column
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
            self.refuse(row, "time", f"time={times[row]}: expected {TIME_EXPECTED}")
