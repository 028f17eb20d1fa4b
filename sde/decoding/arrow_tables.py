"""Arrow IPC streams of any schema, each row of them a record.

Columns inside struct columns, and elements of lists, have paths. Values are those of
`sde.decoding.arrow_columns`. A column of another type (binary, map, ...) has no values; a frame
that has one under a path that is read is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from sde.decoding.arrow_columns import check_type, decoded_bytes, normal_form, to_column
from sde.decoding.frame_reader import read_stream, refuse_expanding, refusing_damage
from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.paths import Paths, member
from sde.decoding.schema_tables import MOST_CELLS
from sde.decoding.table import Table
from sde.wire.faults import Code, Refusal

_MOST_NESTED = 64
_WORD = 8


@dataclass(slots=True)
class _Alike:
    """Consecutive frames with the same columns, which become one table."""

    tables: list[pa.Table] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)

    def takes(self, table: pa.Table) -> bool:
        if not self.tables:
            return True
        rows = len(table) + sum(map(len, self.tables))
        fits = rows * table.num_columns <= MOST_CELLS
        return bool(fits and table.schema == self.tables[0].schema)

    def table(self) -> Table:
        sizes = [len(table) for table in self.tables]
        whole = pa.concat_tables(self.tables)
        columns = {
            path: to_column(column.combine_chunks())
            for path, column in zip(whole.column_names, whole.columns, strict=True)
        }
        del columns[_ROWS]
        lines = np.concatenate([np.arange(size) for size in sizes])
        return Table(columns, np.repeat(np.array(self.messages, np.int64), sizes), lines)


_ROWS = ""  # a column that says how many rows there are, if there is no other


def read_arrow(
    messages: Messages,
    which: NDArray[np.int64],
    paths: frozenset[str] | None,
    limits: Limits,
    letters: Letters,
) -> Iterator[Table]:
    """Tables of the messages `which`, each an Arrow IPC stream."""
    wanted = Paths(paths)
    run = _Alike()
    for i in which.tolist():
        payload = messages.buffer[messages.starts[i] : messages.ends[i]]
        try:
            with refusing_damage():
                table = _flat(payload, wanted, limits)
        except Refusal as refusal:
            letters.refuse(i, 0, refusal.fault, payload.tobytes())
            continue
        if not len(table):
            continue
        if not run.takes(table):
            yield run.table()
            run = _Alike()
        run.tables.append(table)
        run.messages.append(i)
    if run.tables:
        yield run.table()


def _flat(payload: NDArray[np.uint8], wanted: Paths, limits: Limits) -> pa.Table:
    """The columns of a frame by path, in their normal form."""
    sent = read_stream(payload)
    leaves = _Leaves(payload, wanted, limits)
    for name, column in zip(sent.column_names, sent.columns, strict=True):
        leaves.add(name, column.combine_chunks(), 0)
    refuse_expanding(sum(map(decoded_bytes, leaves.found.values())), payload)
    columns = {path: normal_form(array) for path, array in leaves.found.items()}
    columns[_ROWS] = pa.array(np.zeros(len(sent), np.int64))
    return pa.table(columns)


class _Leaves:
    """Takes columns apart until they are scalars."""

    def __init__(self, payload: NDArray[np.uint8], wanted: Paths, limits: Limits) -> None:
        self._payload, self._wanted, self._limits = payload, wanted, limits
        self._from_lists = 0  # bytes of elements that were copied, at least
        self.found: dict[str, pa.Array] = {}

    def add(self, path: str, array: pa.Array, depth: int) -> None:
        if not self._wanted.touch(path) or types.is_null(array.type):
            return
        if depth > _MOST_NESTED:
            text = f"column {path[:80]!r}: more than {_MOST_NESTED} types inside each other"
            raise Refusal(Code.BAD_FRAME, text, path[:80])
        if types.is_struct(array.type):
            for inner, values in zip(array.type, array.flatten(), strict=True):
                self.add(member(path, inner.name), values, depth + 1)
        elif types.is_list(array.type) or types.is_large_list(array.type):
            for element in self._elements(path, array):
                self._from_lists += _WORD * len(array)
                refuse_expanding(self._from_lists, self._payload)
                self.add(f"{path}[{element}]", _element(array, element), depth + 1)
        elif self._wanted.have(path):
            self._leaf(path, array)

    def _leaf(self, path: str, array: pa.Array) -> None:
        try:
            check_type(path[:80], array.type)
        except Refusal:
            if self._wanted.every:
                return
            raise
        most, longest = self._limits.max_fields, self._limits.max_name
        if path in self.found:
            raise Refusal(Code.BAD_FRAME, f"column {path[:80]!r} occurs twice", path[:80])
        if len(self.found) == most:
            raise Refusal(Code.TOO_LARGE, f"a frame of more than {most} fields")
        if not 0 < len(path) <= longest:
            text = f"column {path[:80]!r}: expected 1 to {longest} characters"
            raise Refusal(Code.TOO_LARGE, text, path[:80])
        self.found[path] = array

    def _elements(self, path: str, array: pa.Array) -> range | list[int]:
        """Which elements of the lists are read; of all, no more than fields are allowed."""
        if not self._wanted.every:
            return self._wanted.elements(path)
        longest = pc.max(pc.list_value_length(array)).as_py() or 0
        return range(min(longest, self._limits.max_fields + 1))


def _element(array: pa.Array, element: int) -> pa.Array:
    """That element of each list, null where a list is null or shorter."""
    sizes = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    places = np.asarray(array.offsets)[:-1].astype(np.int64) + element
    return array.values.take(pa.array(places, mask=sizes <= element))
