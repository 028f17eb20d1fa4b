"""Messages that are one record each, of forms that a schema describes, become tables.

    messages ── frame: which schema ── its decoder ── columns by path ──> tables

A schema may change from message to message. Each has a decoder, which reads all of its records at
once; a table has the columns of all of them, its rows in the order of the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.merging import merge_tables
from sde.decoding.messages import Messages
from sde.decoding.schemas import Schema, Schemas, UnknownSchema
from sde.decoding.table import Table
from sde.kernels import confluent as kernel
from sde.tuples.column import Column
from sde.wire.faults import Code, Fault, Refusal

MOST_CELLS = 16_000_000  # of one table


@dataclass(frozen=True, slots=True)
class Records:
    """Record i is buffer[starts[i]:ends[i]], of the message with the index messages[i]."""

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    messages: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: NDArray[np.int64] | slice) -> Records:
        return Records(self.buffer, self.starts[rows], self.ends[rows], self.messages[rows])

    def payload(self, row: int) -> bytes:
        return self.buffer[self.starts[row] : self.ends[row]].tobytes()


class Decoder(Protocol):
    """Reads the records of one schema."""

    @property
    def columns(self) -> int:
        """How many columns there are at most."""

    def read(
        self, records: Records, refuse: Callable[[int, Fault], None]
    ) -> tuple[NDArray[np.int64], dict[str, Column]]:
        """The rows that could be read and their columns; for each other row `refuse` is called."""


@dataclass(frozen=True, slots=True)
class RefusingDecoder:
    """Of a schema that is not known or cannot be used."""

    fault: Fault
    columns: int = 0

    def read(
        self, records: Records, refuse: Callable[[int, Fault], None]
    ) -> tuple[NDArray[np.int64], dict[str, Column]]:
        for row in range(len(records)):
            refuse(row, self.fault)
        return np.empty(0, np.int64), {}


def read_framed(
    messages: Messages,
    which: NDArray[np.int64],
    limits: Limits,
    letters: Letters,
    schemas: Schemas,
    decoder_of: Callable[[Schema], Decoder],
) -> Iterator[Table]:
    """Tables of the messages `which`: a zero, the number of a schema in 4 bytes, and the record.

    `decoder_of` may raise Refusal. What `schemas` raises is raised here, but for UnknownSchema.
    """
    if not len(which):
        return iter(())
    numbers = np.empty(len(which), np.int64)
    kernel.schema_numbers(_writable(messages), messages.starts, messages.ends, which, numbers)
    decoders: list[Decoder] = []
    index = np.empty(len(which), np.int64)
    for number, own in grouped(numbers):
        index[own] = len(decoders)
        decoders.append(_decoder(number, schemas, decoder_of))
    return read_records(messages, which, kernel.SIZE, limits, letters, decoders, index)


def read_records(
    messages: Messages,
    which: NDArray[np.int64],
    skip: int,
    limits: Limits,
    letters: Letters,
    decoders: Sequence[Decoder],
    decoder_of: NDArray[np.int64] | None = None,
) -> Iterator[Table]:
    """Tables of the messages `which`, the first `skip` bytes of each passed over.

    Message which[j] is read by decoders[decoder_of[j]] (None: all by the first).
    """
    index = np.zeros(len(which), np.int64) if decoder_of is None else decoder_of
    sizes = messages.ends[which] - messages.starts[which]
    large = sizes > limits.max_tuple_bytes
    if large.any():
        for j in np.flatnonzero(large).tolist():
            text = f"a record of {sizes[j]:,} bytes: expected at most {limits.max_tuple_bytes:,}"
            i = int(which[j])
            letters.refuse(i, 0, Fault(Code.TOO_LARGE, text), messages.payload(i))
        which, index = which[~large], index[~large]
    ends = messages.ends[which]
    records = Records(
        _writable(messages), np.minimum(messages.starts[which] + skip, ends), ends, which
    )
    at_once = max(1, MOST_CELLS // max(1, sum(decoder.columns for decoder in decoders)))
    for first in range(0, len(which), at_once):
        part = slice(first, first + at_once)
        yield _table(records.take(part), index[part], decoders, messages, letters)


def _writable(messages: Messages) -> NDArray[np.uint8]:
    """Kernels are compiled for writable arrays, though nothing is written to this one."""
    return np.require(messages.buffer, np.uint8, ["C", "W"])


def _decoder(number: int, schemas: Schemas, decoder_of: Callable[[Schema], Decoder]) -> Decoder:
    if number == kernel.NO_SCHEMA:
        text = "no frame of a schema registry: expected a zero and 4 bytes of a schema's number"
        return RefusingDecoder(Fault(Code.BAD_RECORD, text))
    try:
        return decoder_of(schemas(number))
    except UnknownSchema as error:
        return RefusingDecoder(Fault(Code.UNKNOWN_SCHEMA, f"schema {number}: {error}"))
    except Refusal as refusal:
        fault = refusal.fault
        return RefusingDecoder(Fault(fault.code, f"schema {number}: {fault.message}", fault.field))


def _table(
    records: Records,
    index: NDArray[np.int64],
    decoders: Sequence[Decoder],
    messages: Messages,
    letters: Letters,
) -> Table:
    taken = np.zeros(len(records), np.bool_)
    read: list[tuple[NDArray[np.int64], dict[str, Column]]] = []
    for number, own in grouped(index):

        def refuse(row: int, fault: Fault, own: NDArray[np.int64] = own) -> None:
            message = int(records.messages[own[row]])
            letters.refuse(message, 0, fault, messages.payload(message))

        of_schema = records if len(own) == len(records) else records.take(own)
        rows, columns = decoders[number].read(of_schema, refuse)
        taken[own[rows]] = True
        read.append((own[rows], columns))
    place_of, kept = np.cumsum(taken) - 1, np.flatnonzero(taken)
    columns = merge_tables(len(kept), [(place_of[rows], columns) for rows, columns in read])
    return Table(columns, records.messages[kept], np.zeros(len(kept), np.int64))


def grouped(index: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each number that occurs, with its places. Mostly there is but one."""
    if (index == index[0]).all():
        yield int(index[0]), np.arange(len(index))
        return
    order = np.argsort(index, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(index[order])) + 1):
        yield int(index[own[0]]), own
