"""Debezium's envelope around a changed row of a database: {"before": ..., "after": ..., "op": ...}.

A layer on tables of any format: JSON, where a `payload` may be around the envelope, or Avro. Rows
that are created, read or updated are what is `after`; a row that was removed is what was `before`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sde.decoding.letters import Letters
from sde.decoding.merging import Part, merge
from sde.decoding.messages import Messages
from sde.decoding.table import Table
from sde.tuples.column import Column
from sde.wire.faults import Code, Fault
from synopses.texts import Texts

_WRAPPERS = ("", "payload.")
_ADDED, _REMOVED, _NO_ROW = b"cru", b"d", b"m"  # letters of `op`; m is a message without a row
_NONE = 0


def envelope_paths(paths: frozenset[str] | None) -> frozenset[str] | None:
    """The paths that have to be read of envelopes for these paths of rows (None: all).

    >>> sorted(envelope_paths(frozenset({"id"})))[:3]
    ['after.id', 'before.id', 'op']
    """
    if paths is None:
        return None
    inside = {f"{side}.{path}" for side in ("before", "after") for path in paths} | {"op"}
    return frozenset(wrapper + path for wrapper in _WRAPPERS for path in inside)


class Changes(NamedTuple):
    """The rows in envelopes, by what became of them."""

    added: Table
    removed: Table | None = None


def open_envelopes(table: Table, messages: Messages, letters: Letters) -> Changes:
    """The rows in the envelopes that are the table's records.

    A record whose `op` says neither that a row is there nor that it is gone is refused.
    """
    ops = [_Ops.at(wrapper + "op", table) for wrapper in _WRAPPERS]
    wrapped = ~ops[0].present
    op = np.where(wrapped, ops[1].letters, ops[0].letters)
    for row in np.flatnonzero(~np.isin(op, list(_ADDED + _REMOVED + _NO_ROW))).tolist():
        text = f"op={ops[int(wrapped[row])].shown(row)}: expected c, r, u or d, of Debezium"
        message, line = int(table.message_of[row]), int(table.lines[row])
        fault = Fault(Code.BAD_RECORD, text, "op")
        letters.refuse(message, line, fault, messages.payload(message))
    return Changes(
        added=_rows(table, "after.", np.isin(op, list(_ADDED)), wrapped),
        removed=_rows(table, "before.", np.isin(op, list(_REMOVED)), wrapped),
    )


def _rows(table: Table, side: str, chosen: NDArray[np.bool_], wrapped: NDArray[np.bool_]) -> Table:
    """The rows that stand on one side of the chosen envelopes."""
    rows, places = np.flatnonzero(chosen), np.cumsum(chosen) - 1
    parts: dict[str, list[Part]] = {}
    for wrapper, has_form in zip(_WRAPPERS, (~wrapped, wrapped), strict=True):
        own = np.flatnonzero(has_form & chosen)
        prefix = wrapper + side
        for path, column in table.columns.items():
            if len(own) and path.startswith(prefix):
                values = column if len(own) == len(table) else column.take(own)
                parts.setdefault(path[len(prefix) :], []).append(Part(places[own], values))
    columns = {path: merge(len(rows), of_path) for path, of_path in parts.items()}
    return Table(columns, table.message_of[rows], table.lines[rows])


@dataclass(frozen=True, slots=True)
class _Ops:
    """What `op` is in each row; `letters` is _NONE where it is no letter."""

    texts: Texts
    present: NDArray[np.bool_]
    letters: NDArray[np.uint8]

    @classmethod
    def at(cls, path: str, table: Table) -> _Ops:
        column = table.columns.get(path) or Column.missing(len(table))
        texts, present = column.texts(), column.valid
        if present is None:
            present = np.ones(len(table), np.bool_)
        single = present & (np.diff(texts.offsets) == 1)
        letters = np.full(len(table), _NONE, np.uint8)
        letters[single] = texts.buffer[texts.offsets[:-1][single]]
        return cls(texts, present, letters)

    def shown(self, row: int) -> str:
        return repr(self.texts[row][:80]) if self.present[row] else "missing"
