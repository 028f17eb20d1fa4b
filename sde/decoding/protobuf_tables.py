"""Protobuf: messages that are one record each, with the number of a schema before it.

Behind the number stands which message of the schema it is. A value is what it is in JSON: a
number, or a text. Truth values are texts, enums the names of their values; bytes are a text with
a character for each byte. Timestamps and durations are milliseconds, wrappers the value in them.
NaN and infinities are null. A field of proto3 that is not there has its default value, as its
language says, but one with `optional`, in a oneof, or of proto2 is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from google.protobuf.descriptor import FieldDescriptor, FileDescriptor
from numpy.typing import NDArray

from sde.decoding.cells import byte_texts, truths
from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.merging import merge_tables
from sde.decoding.messages import Messages
from sde.decoding.paths import Paths
from sde.decoding.plain_records import PlainDecoder
from sde.decoding.protobuf_plain import MOST_SECONDS, SPANS, read_message
from sde.decoding.protobuf_program import NotFixed, Program, compile_message
from sde.decoding.protobuf_schema import load_schema, message_at
from sde.decoding.schema_tables import Decoder, Records, RefusingDecoder, grouped, read_framed
from sde.decoding.schemas import Schema, Schemas
from sde.decoding.table import Table
from sde.kernels import protobuf as kernel
from sde.tuples.column import Coded, Column
from sde.tuples.spans import gather
from sde.wire.faults import Code, Fault, Refusal
from synopses.texts import Texts

_MOST_MESSAGES = 100  # of one schema, whose decoders are kept
_REASONS = {
    kernel.ENDED: "the message ends inside a value",
    kernel.LONG_NUMBER: "a number of more than 64 bits",
    kernel.BAD_TAG: "a field with a number or a type that there cannot be",
    kernel.BAD_SIZE: "a size that goes beyond the end",
    kernel.NOT_UTF8: "not UTF-8",
    kernel.TOO_DEEP: f"more than {kernel.DEPTH} messages inside each other",
    kernel.GROUP: "a group, which is not read",
    kernel.BAD_INDEXES: "in front of it is not said which message of the schema it is",
}
_UNSIGNED = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)
_FLOATING = (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE)


def read_framed_protobuf(
    messages: Messages,
    which: NDArray[np.int64],
    paths: frozenset[str] | None,
    limits: Limits,
    letters: Letters,
    schemas: Schemas,
) -> Iterator[Table]:
    """Tables of the messages `which`, each with the number of its schema in front."""
    decoder_of = partial(protobuf_decoder, paths=paths, limits=limits)
    return read_framed(messages, which, limits, letters, schemas, decoder_of)


@lru_cache(maxsize=256)
def protobuf_decoder(schema: Schema, paths: frozenset[str] | None, limits: Limits) -> Decoder:
    """What reads records of this schema; Refusal says why it cannot be used."""
    return _FileDecoder(load_schema(schema), paths, limits)


@dataclass(frozen=True, slots=True)
class _FileDecoder:
    """Finds out which message of the schema each record is."""

    _file: FileDescriptor
    _paths: frozenset[str] | None
    _limits: Limits
    _decoders: dict[int, Decoder] = field(default_factory=dict)

    @property
    def columns(self) -> int:
        return self._limits.max_fields if self._paths is None else len(self._paths)

    def read(
        self, records: Records, refuse: Callable[[int, Fault], None]
    ) -> tuple[NDArray[np.int64], dict[str, Column]]:
        sizes, indexes = np.empty(len(records), np.int64), np.empty(len(records), np.int64)
        kernel.message_indexes(records.buffer, records.starts, records.ends, sizes, indexes)
        starts = records.starts + np.maximum(sizes, 0)
        records = Records(records.buffer, starts, records.ends, records.messages)
        indexes[sizes < 0] = kernel.BAD_INDEXES
        read, taken = [], np.zeros(len(records), np.bool_)
        for index, own in grouped(indexes):
            refuse_own = partial(_refuse_own, refuse, own)
            rows, columns = self._decoder(index).read(records.take(own), refuse_own)
            taken[own[rows]] = True
            read.append((own[rows], columns))
        places, kept = np.cumsum(taken) - 1, np.flatnonzero(taken)
        return kept, merge_tables(len(kept), [(places[rows], columns) for rows, columns in read])

    def _decoder(self, index: int) -> Decoder:
        """Of the message that these bytes name."""
        if index not in self._decoders:
            if len(self._decoders) == _MOST_MESSAGES:
                self._decoders.clear()
            self._decoders[index] = self._made(index)
        return self._decoders[index]

    def _made(self, index: int) -> Decoder:
        wanted = Paths(self._paths)
        try:
            if index == kernel.BAD_INDEXES:
                return RefusingDecoder(_fault(kernel.BAD_INDEXES, ""))
            message = message_at(self._file, _numbers(index))
            try:
                return _ProgramDecoder(compile_message(message, wanted, self._limits.max_fields))
            except NotFixed:
                plain = partial(read_message, message, wanted)
                return PlainDecoder(plain, self._paths, self._limits)
        except Refusal as refusal:
            return RefusingDecoder(refusal.fault)


def _refuse_own(
    refuse: Callable[[int, Fault], None], own: NDArray[np.int64], row: int, fault: Fault
) -> None:
    refuse(int(own[row]), fault)


def _numbers(index: int) -> list[int]:
    """The places of a message, from the bytes that say them; one zero is the first message."""
    numbers, value, shift = [], 0, 0
    for byte in (index & (2**64 - 1)).to_bytes(8, "little"):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append((value >> 1) ^ -(value & 1))
            value = shift = 0
    count = numbers[0]
    return numbers[1 : 1 + count] if count else [0]


@dataclass(frozen=True, slots=True)
class _ProgramDecoder:
    """All records of one message type at once, in a kernel."""

    _program: Program

    @property
    def columns(self) -> int:
        return len(self._program.columns)

    def read(
        self, records: Records, refuse: Callable[[int, Fault], None]
    ) -> tuple[NDArray[np.int64], dict[str, Column]]:
        program, rows = self._program, len(records)
        shape = (max(1, self.columns), rows)
        words, stops = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        present = np.zeros(shape, np.bool_)
        outcomes, places = np.empty(rows, np.int64), np.empty(rows, np.int64)
        kernel.read_messages(
            records.buffer, records.starts, records.ends, program.nodes, program.fields,
            program.lists, np.empty(kernel.DEPTH * kernel.FRAME, np.int64),
            words, words.view(np.float64), stops, present, outcomes, places,
        )  # fmt: skip
        taken = np.flatnonzero(outcomes == kernel.FINE)
        if len(taken) < rows:
            for row in np.flatnonzero(outcomes != kernel.FINE).tolist():
                place = int(places[row])
                refuse(row, _fault(int(outcomes[row]), program.names[place] if place >= 0 else ""))
            words, stops, present = words[:, taken], stops[:, taken], present[:, taken]
        columns: dict[str, Column] = {}
        for i, (path, of) in enumerate(program.columns):
            if of.containing_type.full_name not in SPANS:
                columns[path] = _column(of, records.buffer, words[i], stops[i], present[i])
            elif of.name == "nanos":  # its seconds are in the column before
                columns[path] = _milliseconds(words[i - 1], words[i], present[i])
        return taken, columns


def _fault(outcome: int, path: str) -> Fault:
    shown = f"{path[:80]}: " if path else ""
    text = f"not of its Protobuf schema: {shown}{_REASONS[outcome]}"
    return Fault(Code.BAD_RECORD, text, path[:80])


def _milliseconds(
    seconds: NDArray[np.int64], nanos: NDArray[np.int64], present: NDArray[np.bool_]
) -> Column:
    valid = present & (seconds >= -MOST_SECONDS) & (seconds <= MOST_SECONDS)
    times = np.where(valid, seconds, 0) * 1000 + nanos // 1_000_000
    return Column(times, None if valid.all() else valid)


def _column(
    of: FieldDescriptor,
    buffer: NDArray[np.uint8],
    words: NDArray[np.int64],
    stops: NDArray[np.int64],
    present: NDArray[np.bool_],
) -> Column:
    """The cells that the kernel filled, as a column."""
    data: Any = words
    if of.enum_type:
        data = _names(of, words, present)
    elif of.type == FieldDescriptor.TYPE_BOOL:
        data = truths(words)
    elif of.type in _FLOATING:
        data = words.view(np.float64)
        present = present & np.isfinite(data)
    elif of.type == FieldDescriptor.TYPE_STRING:
        data = gather(buffer, words, stops)
    elif of.type == FieldDescriptor.TYPE_BYTES:
        data = byte_texts(gather(buffer, words, stops))
    elif of.type in _UNSIGNED and (words[present] < 0).any():
        data = Texts.of(map(str, words.view(np.uint64).tolist()))
    return Column(data, None if present.all() else present)


def _names(of: FieldDescriptor, words: NDArray[np.int64], present: NDArray[np.bool_]) -> Coded:
    """The names of an enum's values; one that it has not is its number."""
    numbers, codes = np.unique(np.where(present, words, 0), return_inverse=True)
    known = of.enum_type.values_by_number
    names = [known[n].name if n in known else str(n) for n in numbers.tolist()]
    return Coded(Texts.of(names or ["0"]), codes.astype(np.int32))
